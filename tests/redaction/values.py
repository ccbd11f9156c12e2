"""Values that look like secrets and personal data and belong to nobody: drawn by chance, with the checksums they need."""

import base64
import hashlib
import random
import string
from collections.abc import Callable, Mapping
from datetime import date, timedelta

Make = Callable[[random.Random], str]

BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
BECH32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
ALNUM = string.ascii_letters + string.digits


def digits(rng: random.Random, count: int, first: str = "") -> str:
    return first + "".join(rng.choice(string.digits) for _ in range(count - len(first)))


def chars(rng: random.Random, count: int, alphabet: str = ALNUM) -> str:
    """Random characters, with a digit, a capital and a small letter among the first ones where there are such."""
    drawn = [rng.choice(alphabet) for _ in range(count)]
    for place, kind in (
        (2, string.digits),
        (4, string.ascii_uppercase),
        (5, string.ascii_lowercase),
        (7, string.digits),
    ):
        if count > place and (of_kind := [each for each in alphabet if each in kind]):
            drawn[place] = rng.choice(of_kind)
    return "".join(drawn)


def luhn(number: str) -> str:
    total = sum(sum(divmod(int(digit) * (2 - place % 2), 10)) for place, digit in enumerate(reversed(number)))
    return number + str(-total % 10)


def grouped(number: str, *sizes: int, joint: str = " ") -> str:
    at, parts = 0, []
    for size in sizes:
        parts.append(number[at : at + size])
        at += size
    return joint.join(parts)


def day(rng: random.Random, first: int = 1945, last: int = 2004) -> date:
    return date(first, 1, 1) + timedelta(days=rng.randrange(365 * (last - first)))


def email(rng: random.Random) -> str:
    name = rng.choice(
        ["anna.k", "li_wei", "j.doe+test", "O'Brien", "marie-claire", "x99", "tomasz.nowak", "büro.müller"]
    )
    return f"{name}{rng.randrange(99)}@{rng.choice(['example.org', 'mail.example.com', 'firma.example.de', 'example.co.uk', 'post.invalid.io'])}"


def phone(rng: random.Random) -> str:
    return rng.choice(
        [
            f"+1 415 555 {digits(rng, 4)}",
            f"(212) 555-{digits(rng, 4)}",
            f"646-555-{digits(rng, 4)}",
            f"+44 7700 900{digits(rng, 3)}",
            f"020 7946 0{digits(rng, 3)}",
            f"+49 30 {digits(rng, 7, '5')}",
            f"0171/{digits(rng, 7, '2')}",
            f"+33 6 39 98 {digits(rng, 2)} {digits(rng, 2)}",
            f"06 39 98 {digits(rng, 2)} {digits(rng, 2)}",
            f"+34 612 {digits(rng, 3)} {digits(rng, 3)}",
            f"+39 347 {digits(rng, 3)} {digits(rng, 4)}",
            f"+55 (11) 9{digits(rng, 4)}-{digits(rng, 4)}",
            f"+7 (912) {digits(rng, 3)}-{digits(rng, 2)}-{digits(rng, 2)}",
            f"+86 138 {digits(rng, 4)} {digits(rng, 4)}",
            f"090-{digits(rng, 4)}-{digits(rng, 4)}",
            f"010-{digits(rng, 4)}-{digits(rng, 4)}",
            f"+31612{digits(rng, 6)}",
            f"0048 512 {digits(rng, 3)} {digits(rng, 3)}",
            f"+90 532 {digits(rng, 3)} {digits(rng, 2)} {digits(rng, 2)}",
            f"+91-98{digits(rng, 8)}",
        ]
    )


def card(rng: random.Random) -> str:
    prefix, length = rng.choice(
        [
            ("4", 16),
            ("51", 16),
            ("2221", 16),
            ("34", 15),
            ("37", 15),
            ("6011", 16),
            ("3530", 16),
            ("6221", 16),
            ("2201", 16),
            ("5018", 16),
            ("36", 14),
            ("6521", 16),
        ]
    )
    number = luhn(digits(rng, length - 1, prefix))
    sizes = {16: (4, 4, 4, 4), 15: (4, 6, 5), 14: (4, 6, 4)}[length]
    return rng.choice([number, grouped(number, *sizes), grouped(number, *sizes, joint="-")])


IBAN_SIZES = {
    "DE": 22,
    "GB": 22,
    "FR": 27,
    "ES": 24,
    "IT": 27,
    "NL": 18,
    "PL": 28,
    "PT": 25,
    "CH": 21,
    "TR": 26,
    "SE": 24,
    "BE": 16,
    "AT": 20,
    "SA": 24,
}


def iban(rng: random.Random) -> str:
    country = rng.choice(sorted(IBAN_SIZES))
    account = digits(rng, IBAN_SIZES[country] - 4)
    if country in ("GB", "NL"):
        account = "FAKE" + account[4:]
    if country == "IT":
        account = "X" + account[1:]
    moved = "".join(str(int(char, 36)) for char in f"{account}{country}00")
    number = f"{country}{98 - int(moved) % 97:02d}{account}"
    return rng.choice([number, " ".join(number[at : at + 4] for at in range(0, len(number), 4))])


def ssn(rng: random.Random) -> str:
    return f"{rng.randrange(100, 660)}-{rng.randrange(10, 99)}-{rng.randrange(1000, 9999)}"


def nino(rng: random.Random) -> str:
    number = f"{rng.choice(['AB', 'CE', 'JG', 'WM'])}{digits(rng, 6)}{rng.choice('ABCD')}"
    return rng.choice([number, grouped(number, 2, 2, 2, 2, 1)])


def dni(rng: random.Random) -> str:
    number = digits(rng, 8)
    return number + "TRWAGMYFPDXBNJZSQVHLCKE"[int(number) % 23]


def nie(rng: random.Random) -> str:
    first, number = rng.randrange(3), digits(rng, 7)
    return "XYZ"[first] + number + "TRWAGMYFPDXBNJZSQVHLCKE"[int(f"{first}{number}") % 23]


def nir(rng: random.Random) -> str:
    born = day(rng)
    number = f"{rng.choice('12')}{born:%y%m}75{digits(rng, 3, '1')}{digits(rng, 3, '0')}"
    full = f"{number}{97 - int(number) % 97:02d}"
    return rng.choice([full, grouped(full, 1, 2, 2, 2, 3, 3, 2)])


def weighed(number: str, *weights: int) -> int:
    return sum(int(digit) * weight for digit, weight in zip(number, weights, strict=True))


def pesel(rng: random.Random) -> str:
    number = f"{day(rng, 1945, 1999):%y%m%d}{digits(rng, 4)}"
    return number + str(-weighed(number, 1, 3, 7, 9, 1, 3, 7, 9, 1, 3) % 10)


def personnummer(rng: random.Random) -> str:
    born = day(rng, 1950, 1999)
    number = luhn(f"{born:%y%m%d}{digits(rng, 3)}")
    return rng.choice([f"{number[:6]}-{number[6:]}", f"19{number[:6]}-{number[6:]}"])


def cpf(rng: random.Random) -> str:
    number = digits(rng, 9)
    for size in (9, 10):
        number += str(weighed(number, *range(size + 1, 1, -1)) * 10 % 11 % 10)
    return f"{number[:3]}.{number[3:6]}.{number[6:9]}-{number[9:]}"


def cnpj(rng: random.Random) -> str:
    number = f"{digits(rng, 8)}0001"
    for weights in ((5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2), (6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2)):
        rest = weighed(number, *weights) % 11
        number += "0" if rest < 2 else str(11 - rest)
    return f"{number[:2]}.{number[2:5]}.{number[5:8]}/{number[8:12]}-{number[12:]}"


def resident_id(rng: random.Random) -> str:
    number = f"110105{day(rng):%Y%m%d}{digits(rng, 3)}"
    return number + "10X98765432"[weighed(number, *(2 ** (17 - at) % 11 for at in range(17))) % 11]


def rrn(rng: random.Random) -> str:
    return f"{day(rng, 1950, 1999):%y%m%d}-{rng.choice('12')}{digits(rng, 6)}"


def kimlik(rng: random.Random) -> str:
    number = digits(rng, 9, str(rng.randrange(1, 10)))
    tenth = (sum(map(int, number[::2])) * 7 - sum(map(int, number[1::2]))) % 10
    return f"{number}{tenth}{(sum(map(int, number)) + tenth) % 10}"


def south_african(rng: random.Random) -> str:
    return luhn(f"{day(rng, 1950, 1999):%y%m%d}{digits(rng, 4)}08")


def pan(rng: random.Random) -> str:
    return f"{chars(rng, 3, string.ascii_uppercase)}P{rng.choice(string.ascii_uppercase)}{digits(rng, 4, '1')}{rng.choice(string.ascii_uppercase)}"


def national_id(rng: random.Random) -> str:
    return rng.choice([ssn, nino, dni, nie, nir, pesel, personnummer, resident_id, rrn, kimlik, south_african])(rng)


def tax_id(rng: random.Random) -> str:
    return rng.choice([cpf, cnpj, pan])(rng)


def ip_address(rng: random.Random) -> str:
    if rng.random() < 0.3:
        return f"2001:db8:{rng.randrange(4096):x}::{rng.randrange(1, 4096):x}"
    return f"{rng.choice(['203.0.113', '198.51.100', '10.20.30', '192.168.7'])}.{rng.randrange(10, 250)}"


def mac_address(rng: random.Random) -> str:
    return rng.choice(":-").join(f"{rng.randrange(256):02x}" for _ in range(6))


def location(rng: random.Random) -> str:
    return f"{rng.uniform(-80, 80):.5f}, {rng.uniform(-170, 170):.5f}"


def base58check(payload: bytes) -> str:
    raw = payload + hashlib.sha256(hashlib.sha256(payload).digest()).digest()[:4]
    number, text = int.from_bytes(raw, "big"), ""
    while number:
        number, rest = divmod(number, 58)
        text = BASE58[rest] + text
    return "1" * (len(raw) - len(raw.lstrip(b"\0"))) + text


def bech32(rng: random.Random) -> str:
    data = [0, *(rng.randrange(32) for _ in range(32))]
    steps = 0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3
    total = 1
    for value in [3, 3, 0, 2, 3, *data, 0, 0, 0, 0, 0, 0]:
        top, total = total >> 25, (total & 0x1FFFFFF) << 5 ^ value
        for bit, step in enumerate(steps):
            total ^= step if top >> bit & 1 else 0
    total ^= 1
    return "bc1" + "".join(BECH32[value] for value in [*data, *((total >> 5 * (5 - at)) & 31 for at in range(6))])


def crypto_address(rng: random.Random) -> str:
    return rng.choice(
        [
            base58check(b"\0" + rng.randbytes(20)),
            base58check(b"\5" + rng.randbytes(20)),
            bech32(rng),
            "0x" + rng.randbytes(20).hex(),
        ]
    )


def private_key(rng: random.Random) -> str:
    kind = rng.choice(["RSA PRIVATE KEY", "PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"])
    body = base64.b64encode(rng.randbytes(240)).decode()
    return "\n".join(
        [f"-----BEGIN {kind}-----", *(body[at : at + 64] for at in range(0, len(body), 64)), f"-----END {kind}-----"]
    )


def jwt(rng: random.Random) -> str:
    parts = (b'{"alg":"HS256","typ":"JWT"}', f'{{"sub":"{rng.randrange(10**6)}"}}'.encode(), rng.randbytes(32))
    return ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)


def password(rng: random.Random) -> str:
    return (
        rng.choice(["Sommer", "tiger", "Qwe", "fluffy", "MyDog"])
        + rng.choice(["#", "!", "_", "", "$"])
        + digits(rng, 3)
        + rng.choice(["x", "!", "Zz"])
    )


def secret(rng: random.Random) -> str:
    return rng.choice(
        [chars(rng, 32), rng.randbytes(16).hex(), base64.b64encode(rng.randbytes(24)).decode(), chars(rng, 20)]
    )


PREFIXED: Mapping[str, tuple[Make, ...]] = {
    "aws_key": (
        lambda rng: "AKIA" + chars(rng, 16, string.ascii_uppercase + "234567"),
        lambda rng: "ASIA" + chars(rng, 16, string.ascii_uppercase + "234567"),
    ),
    "github_token": (
        *(lambda rng, p=p: p + chars(rng, 36) for p in ("ghp_", "gho_", "ghs_", "ghu_", "ghr_")),
        lambda rng: f"github_pat_{chars(rng, 22)}_{chars(rng, 59)}",
    ),
    "gitlab_token": (lambda rng: "glpat-" + chars(rng, 20), lambda rng: "gldt-" + chars(rng, 20)),
    "slack_token": (
        lambda rng: f"xoxb-{digits(rng, 12)}-{digits(rng, 12)}-{chars(rng, 24)}",
        lambda rng: f"xapp-1-A{chars(rng, 10)}-{digits(rng, 13)}-{rng.randbytes(32).hex()}",
    ),
    "webhook_url": (
        lambda rng: f"https://hooks.slack.com/services/T{chars(rng, 8)}/B{chars(rng, 8)}/{chars(rng, 24)}",
        lambda rng: f"https://discord.com/api/webhooks/{digits(rng, 18)}/{chars(rng, 68)}",
    ),
    "stripe_key": (
        lambda rng: "sk_live_" + chars(rng, 24),
        lambda rng: "rk_test_" + chars(rng, 24),
        lambda rng: "whsec_" + chars(rng, 32),
    ),
    "api_key": (
        lambda rng: "sk-proj-" + chars(rng, 48),
        lambda rng: "sk-" + chars(rng, 48),
        lambda rng: f"sk-ant-api03-{chars(rng, 60)}",
        lambda rng: "shpat_" + rng.randbytes(16).hex(),
        lambda rng: "gsk_" + chars(rng, 52),
        lambda rng: "dop_v1_" + rng.randbytes(32).hex(),
        lambda rng: f"{rng.randbytes(16).hex()}-us{rng.randrange(1, 20)}",
    ),
    "google_key": (
        lambda rng: "AIza" + chars(rng, 35),
        lambda rng: "GOCSPX-" + chars(rng, 28),
        lambda rng: "ya29." + chars(rng, 60),
    ),
    "twilio_key": (lambda rng: "SK" + rng.randbytes(16).hex(), lambda rng: "AC" + rng.randbytes(16).hex()),
    "sendgrid_key": (lambda rng: f"SG.{chars(rng, 22)}.{chars(rng, 43)}",),
    "npm_token": (lambda rng: "npm_" + chars(rng, 36),),
    "pypi_token": (lambda rng: "pypi-AgEIcHlwaS5vcmc" + chars(rng, 60),),
    "huggingface_token": (lambda rng: "hf_" + chars(rng, 34),),
    "telegram_token": (lambda rng: f"{digits(rng, 9, '5')}:AA{chars(rng, 33)}",),
    "discord_token": (lambda rng: f"M{chars(rng, 23)}.{chars(rng, 6)}.{chars(rng, 27)}",),
}
PLAIN: Mapping[str, tuple[Make, ...]] = {
    "email": (email,),
    "phone": (phone,),
    "card": (card,),
    "iban": (iban,),
    "national_id": (national_id,),
    "tax_id": (tax_id,),
    "ip_address": (ip_address,),
    "mac_address": (mac_address,),
    "location": (location,),
    "crypto_address": (crypto_address,),
    "jwt": (jwt,),
    **PREFIXED,
}
"""What its own form tells."""
LABELLED: Mapping[str, Make] = {
    "password": password,
    "secret": secret,
    "pin": lambda rng: digits(rng, 4),
    "card_security_code": lambda rng: digits(rng, 3),
    "date_of_birth": lambda rng: rng.choice(["{:%d.%m.%Y}", "{:%Y-%m-%d}", "{:%d/%m/%Y}"]).format(day(rng)),
    "passport": lambda rng: rng.choice(["C0", "X", "AB", "YA"]) + digits(rng, 7),
    "driving_licence": lambda rng: rng.choice(["D", "B072", "K"]) + digits(rng, 8),
    "bank_account": lambda rng: digits(rng, 10, "4"),
    "health_id": lambda rng: digits(rng, 10, "9"),
    "national_id": lambda rng: digits(rng, 9, "7"),
    "tax_id": lambda rng: digits(rng, 11, "6"),
    "phone": lambda rng: digits(rng, 9, "6"),
}
"""What only a label tells."""
