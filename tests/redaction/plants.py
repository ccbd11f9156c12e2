"""Planted values: what must be gone, each in a text of its own. Nothing is anybody's: see `values`."""

import json
import random
from collections.abc import Iterator
from typing import NamedTuple

from tests.redaction.values import LABELLED, PLAIN, private_key


class Plant(NamedTuple):
    """A value, and a text that has it once."""

    kind: str
    value: str
    text: str


CARRIERS = (
    "Please write this down for me: {}.",
    "Danke! Es ist {}, bitte merken.",
    "C'est {} ; merci de le noter.",
    "Es {}, anótalo por favor.",
    "Ecco: {}, grazie.",
    "É {}. Obrigado!",
    "Het is {}, alvast bedankt.",
    "To jest {}, dziękuję.",
    "Вот: {}. Спасибо!",
    "是{}，请记住。",
    "こちらは{}です。",
    "여기 {} 입니다.",
    "Bu {} olacak.",
    "هذا {} شكرا",
    '{{"note": "it is {}", "n": 3}}',
    '{{"tool": "save", "arguments": "{{\\"text\\": \\"see {}\\"}}"}}',
    'x = "{}"  # do not commit',
    "config:\n  value: {}\n  retries: 3",
    "2026-01-02T03:04:05Z INFO handler said [{}] code=200",
    'id,note,when\n7,"{}",today',
    "| what | value |\n|---|---|\n| it | `{}` |",
    "**Note**: {}\n\n- done",
    "<td>{}</td>",
    "first line\n{}\nlast line",
)
"""For what its own form tells: prose in fourteen languages, and structured texts."""

LABELS = {
    "password": (
        *(
            "My password is {}.",
            "PASSWORD={}",
            "INSERT INTO users (id, name, password) VALUES (1, 'Ann', '{}');",
            "requests.get(url, auth=('ann', '{}'))",
            'server.login("ann", "{}")',
            'password: "{}"',
            "Mein Passwort lautet {}",
            "mot de passe : {}",
            "la contraseña es {}",
            "La password è {}",
            "a senha é {}",
        ),
        *(
            "wachtwoord: {}",
            "hasło: {}",
            "пароль: {}",
            "密码是{}",
            "パスワード：{}",
            "şifre: {}",
            "비밀번호: {}",
            "كلمة المرور: {}",
            '{{"user": "bo", "password": "{}"}}',
            "mysql --password {} -u root",
        ),
        *(
            "postgresql://app:{}@db.internal:5432/x",
            "export DB_PASSWORD='{}'",
            "Server=db;Uid=app;Pwd={};",
            "user,password\nbo,{}",
            "login with pwd {}",
            "<password>{}</password>",
            "auth:\n  password: {}\n",
        ),
    ),
    "secret": (
        *(
            "api_key = '{}'",
            "API_TOKEN={}",
            '{{"client_secret": "{}"}}',
            "the access token is {}",
            "Der API-Schlüssel lautet {}",
            "clé API : {}",
            "clave API: {}",
            "chiave API: {}",
            "chave de API: {}",
        ),
        *(
            "API-sleutel: {}",
            "klucz API: {}",
            "токен: {}",
            "API密钥：{}",
            "APIキー：{}",
            "curl -H 'X-Api-Key: {}' https://api.example.org",
            "https://api.example.org/v1?access_token={}&page=2",
            "secretKey: {}",
            "AZURE_STORAGE_KEY={}",
        ),
    ),
    "pin": (
        "My PIN is {}",
        "INSERT INTO `cards`(`id`, `pin`) VALUES\n (7, {});",
        "PIN: {}",
        "Die PIN lautet {}",
        "code PIN : {}",
        "el PIN es {}",
        "пин-код {}",
        "暗証番号は{}です",
        '{{"pin": "{}"}}',
        "verification code: {}",
        "{} is my PIN",
        "验证码：{}",
    ),
    "card_security_code": (
        "CVV {}",
        "cvc: {}",
        '{{"cvv": {}}}',
        "code de sécurité : {}",
        "Prüfziffer {}",
        "安全码：{}",
    ),
    "date_of_birth": (
        *(
            "Date of birth: {}",
            "insert into people (dob, name) values ('{}', 'O''Neil'), (null, now())",
            "I was born on {}",
            "Geburtsdatum: {}",
            "geboren am {}",
            "née le {}",
            "fecha de nacimiento: {}",
            "data di nascita {}",
            "data de nascimento: {}",
            "geboortedatum {}",
        ),
        *(
            "data urodzenia: {}",
            "дата рождения: {}",
            "出生日期：{}",
            "生年月日：{}",
            '{{"dob": "{}"}}',
            "name,birth_date\nBo,{}",
            "doğum tarihi: {}",
            "생년월일: {}",
        ),
    ),
    "passport": (
        *(
            "Passport number: {}",
            "my passport is {}",
            "Reisepass Nr. {}",
            "numéro de passeport : {}",
            "pasaporte {}",
            "passaporto n. {}",
            "passaporte: {}",
            "paspoort {}",
            "paszport: {}",
            "паспорт {}",
            "护照号码：{}",
            "パスポート番号：{}",
        ),
        *('{{"passportNumber": "{}"}}',),
    ),
    "driving_licence": (
        "Driver's license: {}",
        "driving licence number {}",
        "Führerschein: {}",
        "permis de conduire : {}",
        "carnet de conducir: {}",
        "patente di guida: {}",
        "rijbewijs {}",
        "驾驶证号：{}",
        '{{"driver_license": "{}"}}',
    ),
    "bank_account": (
        "account number {}",
        "Kontonummer: {}",
        "numéro de compte : {}",
        "número de cuenta: {}",
        "numero di conto: {}",
        "conta bancária: {}",
        "rekeningnummer {}",
        "numer konta: {}",
        "номер счёта {}",
        "银行账号：{}",
        "口座番号：{}",
        '{{"accountNumber": {}}}',
    ),
    "health_id": (
        "NHS number: {}",
        "Medicare number {}",
        "Versichertennummer: {}",
        "tarjeta sanitaria: {}",
        "tessera sanitaria: {}",
        '{{"medical_record_number": "{}"}}',
    ),
    "national_id": (
        "SSN: {}",
        "REPLACE INTO p (name, ssn) VALUES (upper('ann'), '{}') RETURNING id",
        "social security number {}",
        "BSN: {}",
        "número de la seguridad social: {}",
        "СНИЛС {}",
        "身份证号：{}",
        "マイナンバー：{}",
        '{{"ssn": {}}}',
        "id,ssn\n1,{}",
        "TC kimlik no: {}",
    ),
    "tax_id": (
        "Tax ID: {}",
        "Steuer-ID: {}",
        "numéro fiscal : {}",
        "NIF: {}",
        "codice IVA, partita IVA: {}",
        "NIP: {}",
        "ИНН {}",
        "税号：{}",
    ),
    "phone": (
        "Call me at {}",
        "Tel.: {}",
        "Handy: {}",
        "téléphone : {}",
        "teléfono: {}",
        "cellulare: {}",
        "telemóvel {}",
        "telefoon {}",
        "telefon: {}",
        "телефон: {}",
        "电话：{}",
        "電話番号：{}",
        "전화번호: {}",
        '{{"phone": "{}"}}',
        "name,phone\nBo,{}",
    ),
}
"""For what only a label tells."""


def _plants(rng: random.Random) -> Iterator[Plant]:
    for kind, makes in PLAIN.items():
        for number, carrier in enumerate(CARRIERS):
            if len(makes) < 2 and number % 2 and kind not in ("email", "phone", "card", "iban", "national_id"):
                continue
            yield _plant(rng, kind, makes[number % len(makes)](rng), carrier)
    for kind, labels in LABELS.items():
        for label in labels:
            yield _plant(rng, kind, LABELLED[kind](rng), label)
    for make_kind, text in (
        ("private_key", "key:\n{}\nthanks"),
        ("private_key", 'KEY = """{}"""'),
        ("private_key", "{}"),
    ):
        yield Plant(make_kind, value := private_key(rng), text.format(value))
    for cut in (200, 120):
        value = private_key(rng)[:cut]
        yield Plant("private_key", value, f"here:\n{value}")
    value = private_key(rng)
    yield Plant("private_key", value.split("\n")[1], json.dumps({"key": value}))
    yield Plant("private_key", value.split("\n")[2], "PRIVATE_KEY=" + json.dumps(value))


def _plant(rng: random.Random, kind: str, value: str, carrier: str) -> Plant:
    return Plant(kind, value, carrier.format(value))


PLANTS = tuple(_plants(random.Random(14)))
