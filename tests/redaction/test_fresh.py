"""Plants and look-alikes that are drawn anew from a seed, in forms that no pattern was made for."""

import random

import pytest

import wmem
from tests.redaction.fresh import make_plants
from tests.redaction.fresh_values import HEX, digits, draw
from tests.redaction.test_plants import is_left

_SEEDS = 3, 14, 159
_LEAST_PLANTS = 700


@pytest.mark.parametrize("seed", _SEEDS)
def test_no_fresh_value_is_left(seed: int) -> None:
    redaction = wmem.Redaction()
    plants = list(make_plants(seed))
    assert len(plants) >= _LEAST_PLANTS
    assert [plant for plant in plants if plant.value not in plant.text] == []
    assert [plant for plant in plants if is_left(plant, redaction.redact(plant.text).text)] == []


SAID = (
    """
the password is wrong|my password is too long|The password is case sensitive.|I changed my password to be safe|Use the password manager|Use the password below.
my password is the same everywhere|the password is on the sticky note|We need to change the password to comply.|I reset the password by mistake|my password (forgotten)
password (required)|Password — required|the password's length matters|The password? It's gone.|Here is the password, as promised.|what is the password?
das Passwort ist falsch|mein Passwort ist zu lang|Passwort: erforderlich|ändere das Passwort auf der Seite|le mot de passe est incorrect|mot de passe : obligatoire
la contraseña es incorrecta|la clave es escuchar|cambia la contraseña en el menú|la password è sbagliata|a senha é inválida|het wachtwoord is verkeerd|hasło jest błędne
пароль неверный|мой пароль устарел|мой пароль украли|пароль от почты забыл|密码错误|密码加密算法是bcrypt|密码是必填项|パスワードが違います|パスワードをリセット
비밀번호가 틀렸습니다|كلمة المرور خاطئة|पासवर्ड गलत है|şifre yanlış|lösenordet är fel|heslo je špatné
login: email / phone|credentials: username / password|AUTH LOGIN|a:b:c:d:e|src/a.py:12:34: error: bad|foo:1234:bar:baz:|mysql -u root -p|7z x archive.7z
the code is broken|the code is open source|decode(2231)|20 * 1024 * gzip_decode|an RFC 2231 decoder|point: 3.14159|population 377 934 592|ORCID 0000-0007-4788-6033
fixed in 10.4.2.1, broken again since version 10.4.2.0|Version 10.4.2.1 was broken, so we went back to 10.4.2.0|napi_register_module_v1|you can pass `debug=True` to it|pass 'utf-8' as encoding|md-content-wrapper-outer-box
sm_breakpoint_is_not_defined|test_password_reset_flow_works|api-gateway-production-cluster-01|class A:\\n    def f(self): pass\\n    @functools.wraps(f2)|RC_NOPASSWORD = \"\"\"\\n[distutils]
""".replace("\n", "|")
    .replace("\\n", "\n")
    .replace('\\"', '"')
)


def test_what_is_said_of_passwords_and_codes_stays() -> None:
    redaction = wmem.Redaction()
    texts = [text for text in SAID.split("|") if text]
    assert [text for text in texts if redaction.redact(text).text != text] == []


TAKEN_FOR_ONE = (
    "api_key = os.environ['SERVICE_823_KEY']",
    "created_at=1708959680023",
    '{"createdAt": 1708959680023, "key": "a"}',
    '{"args": ["--max-tokens", "4096", "--token", "--verbose", "--password-file", "/run/secrets/db"]}',
    '{"op": "replace", "path": "/items/3/price", "value": "1299.00"}',
    '{"selector": "#submit", "text": "Sign in"}',
    'saved {"path": "src/password.ts", "content": "export function check() {}"}',
    'compilerPass = "lowering"',
    "firstPass: 120 ms, maxTokens: 4096, keyCode = 13",
    "the account now has 12345 users",
    "пароль теперь обязателен",
    "密码错误",
    "密码长度8位以上",
    "serial 000491234567",
    "closed with code 1006, abnormal",
    "use code 404 to say so",
    "zip code is 90210, status code is 4041, code: 10001",
    "the keypad has 12 keys, 4x3",
    "AWS account 123456789012 and account 4711",
    "see https://account12345678.example/x",
    "birthday cake for 12.03.2026",
    "printf('%20s|%5d%%3d', name, 12)",
    "regex: ^\\d{3}\\n[0-9]{4}\\t$",
    "std::map<int, ab::cd::ef> at 12:34:56:78",
    "seed: 12345678901",
    "contact: 5 people by 2026-03-04",
    "session: 01J9ZQ3K8M4N5P6Q7R8S9T0V1W",
    '"name","count"\n"Doe, Jane",4821\n',
    "C:\\new\\table\\report_4821.txt",
    "n. 12 del 2024, art. 4 n. 3",
    "patient n° 3 of 12",
)


def test_what_only_looks_like_a_named_value_stays() -> None:
    redaction = wmem.Redaction()
    assert [text for text in TAKEN_FOR_ONE if redaction.redact(text).text != text] == []


def test_a_version_does_not_keep_an_address_from_being_found() -> None:
    text = "version 10.4.2.1 runs on server 10.4.2.9"
    assert wmem.Redaction().redact(text).text == "version 10.4.2.1 runs on server [REDACTED_IP_ADDRESS]"


def test_ids_in_hexadecimal_digits_have_no_labels_in_them() -> None:
    rng = random.Random(5)
    texts = [f"trace_id={draw(rng, HEX, 32)} span_id={draw(rng, HEX, 16)}" for _ in range(200)]
    texts += [f"trace_id={draw(rng, HEX, 12)}cf{digits(rng, 5)} span_id={digits(rng, 9)}" for _ in range(50)]
    redaction = wmem.Redaction()
    touched = [text for text in texts if redaction.redact(text).text != text]
    assert len(touched) <= len(texts) // 100, touched


def test_few_bare_numbers_of_eleven_digits_pass_for_identity_numbers() -> None:
    rng = random.Random(7)
    redaction = wmem.Redaction()
    touched = sum(bool(redaction.redact(f"it says {digits(rng, 11)} on the box").counts) for _ in range(1000))
    assert touched <= 25
