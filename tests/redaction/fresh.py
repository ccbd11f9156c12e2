"""Plants as somebody makes them who has read the page of kinds alone: other documents, commands and sentences.

A form has `{k}` for the name of a field, `{v}` for the value.
"""

import random
from collections.abc import Iterator
from itertools import product

from tests.redaction.fresh_values import HEX, KEY_FORMS, MIXED, digits, draw, make_card, make_key, make_password
from tests.redaction.plants import Plant
from tests.redaction.values import cpf

DOCUMENTS = (
    "host: a\n{k}: |\n  {v}\nport: 80\n",
    "{k}: >-\n    {v}\nport: 80\n",
    "{k}: &main {v}\n",
    "{k}: !!str {v}\n",
    "[db]\n{k} = {v}\nport = 1\n",
    '{k} = """\n{v}"""\n',
    "user=bob&{k}={v}&go=1",
    "<x:{k} Type='plain'>{v}</x:{k}>",
    "<server><name>bob</name><{k}>{v}</{k}></server>",
    "<tr><th>{k}</th><td>{v}</td></tr>",
    "<key>{k}</key>\n<string>{v}</string>",
    'public string {k} {{ get; set; }} = "{v}";',
    'let {k}: &str = "{v}";',
    '{k}: str = "{v}"',
    "id;{k};n\n1;{v};2\n",
    'name,{k},city\n"Doe, Jane",{v},"Paris, TX"\n',
    'export {k}="{v}"',
    "curl -F '{k}={v}' https://example.com",
    'settings.put("{k}", "{v}");',
    "tool --{k}={v} run",
)
FIELDS = (
    ("password", "password"),
    ("password", "userPassword"),
    ("secret", "clientSecret"),
    ("secret", "api_key"),
    ("card_security_code", "cardCvv"),
    ("device_id", "deviceImei"),
    ("phone", "homePhone"),
    ("pin", "pin_code"),
    ("date_of_birth", "userBirthDate"),
    ("national_id", "customerSsn"),
)
COMMANDS = (
    "db.example.com:5432:app:bob:{v}",
    "# ~/.pgpass\n*:*:*:app_user:{v}\n",
    "machine example.com\n  login bob\n  password {v}\n",
    "mysql -u bob -p{v} -h db",
    "sqlplus bob/{v}@orcl",
    "jdbc:oracle:thin:bob/{v}@db:1521:x",
    "bob:{v}@tcp(db:3306)/x",
    "htpasswd -b file bob {v}",
    "requirepass {v}",
    "echo '{v}' | sudo -S ls",
    "PGPASSWORD={v} psql -h db",
    "WIFI:T:WPA;S:home;P:{v};;",
    'network={{\n ssid="home"\n psk="{v}"\n}}',
    "keytool -storepass {v} -list",
    "openssl rsa -passin pass:{v} -in k.pem",
    "7z x -p{v} a.zip",
    "Zugangsdaten: bob / {v}",
    "identifiants : bob / {v}",
    "auth=('bob', '{v}')",
)
SENTENCES = {
    "sunflower": "my password is {v}|the wifi password is {v}|i set the password to {v}|log in with {v} as the password|Use the password {v}|I changed my password from {o} to {v}"
    "|password's {v}|My bank password? It's {v}|Here is the password, {v}|can you save my password ({v})?|The password is: {v}, ok?|user bob, password {v}",
    "sonnenblume": "mein Passwort ist {v}|das WLAN-Passwort ist {v}|Ich habe mein Passwort auf {v} geändert|Benutze das Kennwort {v}|das Passwort für den Server ist {v}, bitte löschen",
    "tournesol": "mon mot de passe est {v}|le mot de passe du wifi c'est {v}|mon nouveau mot de passe, c'est {v}|utilise le mot de passe {v}|j'ai changé mon mot de passe en {v}",
    "girasol": "mi contraseña es {v}|la clave del wifi es {v}|cambié mi contraseña a {v}|usa la contraseña {v}|mi nueva contraseña será {v}",
    "girasole": "la mia password è {v}|ho cambiato la password in {v}|usa la password {v}|la mia parola chiave è {v}",
    "girassol": "minha senha é {v}|a palavra-passe é {v}|mudei minha senha para {v}|use a senha {v}|senha do wifi: {v}",
    "zonnebloem": "mijn wachtwoord is {v}|ik heb mijn wachtwoord veranderd in {v}|gebruik het wachtwoord {v}",
    "slonecznik": "moje hasło to {v}|zmieniłem hasło na {v}|użyj hasła {v}",
    "podsolnuh": "мой пароль {v}|мой пароль — {v}|я сменил пароль на {v}|используй пароль {v}|пароль такой: {v}|логин bob, пароль {v}|мій пароль {v}",
    "xiangrikui": "我的密码是{v}|wifi密码是{v}|登录密码为{v}|我把密码改成了{v}|請使用密碼{v}|用户名bob，密码{v}。",
    "himawari": "パスワードは{v}です|パスワードは「{v}」です。|パスワードを{v}に変更しました|合言葉は{v}",
    "haebaragi": "비밀번호는 {v}입니다|제 비밀번호는 {v}예요|비번은 {v}|암호는 {v} 입니다",
    "abbadshams": "كلمة المرور هي {v}|كلمة المرور الخاصة بي هي {v}|كلمة السر: {v}",
    "surajmukhi": "मेरा पासवर्ड {v} है|पासवर्ड: {v}|पासवर्ड है {v}",
    "aycicegi": "şifrem {v}|wifi şifresi {v}|parolam {v} olarak değişti|şifremi {v} yaptım",
    "solros": "mitt lösenord är {v}|byt lösenordet till {v}",
    "slunecnice": "moje heslo je {v}|změnil jsem heslo na {v}",
}
NUMBERS = (
    ("pin", 4, "the code is {v}, valid for 5 minutes|digicode {v}|il codice segreto è {v}|인증 코드: {v}|मेरा पिन {v} है|onay kodunuz {v}|verifieringskod: {v}|můj PIN je {v}"),
    ("phone", 7, "phone: {v}\nport: 80|mobile {v}|fax\n{v}|Here is the fax, {v}|me liga no {v}|zadzwoń pod {v}|मेरा फोन नंबर {v} है|můj telefon je {v}"),
    ("bank_account", 10, "खाता संख्या: {v}|číslo účtu: {v}|the account number has been changed to {v}"),
    ("health_id", 9, "Krankenversicherungsnummer: {v}|numéro de mutuelle : {v}|número de afiliado: {v}|{v} is my NHS number"),
    ("passport", 8, "číslo pasu: {v}|पासपोर्ट नंबर: {v}|{v} is my passport number"),
)  # fmt: skip


NAMES = (
    ("passport", "passportNr|holderPassport|travelDocumentNumber"),
    ("driving_licence", "driversLicenseNumber|driverLicenceNo|licence_number|fuehrerschein"),
    ("card_security_code", "cvcCode|cardSecurityCode"),
    ("health_id", "healthInsuranceId|patientNumber"),
    ("date_of_birth", "fechaNacimiento|patientDob|born"),
    ("password", "dbPass|rootPassword"),
    ("seed_phrase", "walletSeedPhrase"),
    ("bank_account", "numeroCuenta|numero_conto|acctNum"),
    ("pin", "codigoVerificacion"),
    ("card_security_code", "codigo_seguridad"),
    ("device_id", "imei2"),
    ("password", "bindpw"),
)
FILLED_IN = (
    '{{"args": ["--{k}", "{v}", "--verbose"]}}',
    '[{{"op": "replace", "path": "/{k}", "value": "{v}"}}]',
    '{{"selector": "input[name={k}]", "text": "{v}"}}',
    '{{"tool_calls": [{{"function": {{"name": "fill", "arguments": "{{\\"{k}\\": \\"{v}\\"}}"}}}}]}}',
    'val {k} = "{v}"',
    "<{k}>{v}</{k}>",
    "- **{k}**: {v}\n- **color**: red\n",
)
"""How tools are called with a field of a name, and how code and lists have it."""
SAID_NOW = (
    ("secret", "das Passwort ist jetzt {v}|le mot de passe est maintenant {v}|il token di accesso adesso è {v}|пароль теперь {v}|API密钥{v}|пароль от почты = {v} (сохрани)|şifre artık {v}|他说密码现在是{v}|パスワードは今{v}だそうです|암호는 이제 {v}라고 했어요"),
    ("password", 'if password == "{v}":'),
    ("pin", "mijn pincode nu {v} is|Он сказал, что пин теперь {v}|PIN artık {v}"),
    ("card_security_code", "CVV码是{v}|CVV码：{v}|सीवीवी: {v}"),
    ("device_id", "IMEI是{v}，谢谢|IMEIは{v}です|IMEI는 {v}입니다"),
    ("passport", "passport number is {v}, thanks|护照号码：{v}|номер паспорта: {v}|رقم جواز السفر: {v}"),
    ("driving_licence", "номер водительского удостоверения — {v}|ड्राइविंग लाइसेंस नंबर: {v}"),
    ("health_id", "numéro d'assurance maladie : {v}|номер полиса ОМС: {v}|स्वास्थ्य बीमा संख्या {v} है"),
    ("tax_id", "número de identificación fiscal: {v}|fiscaal nummer is {v}|納税者番号：{v}|납세자 번호는 {v}입니다"),
    ("bank_account", "account no. = {v} (keep it safe)|Konto-Nr. = {v}"),
    ("seed_phrase", "frase di recupero: {v}|fraza odzyskiwania to {v}, dzięki.|シードフレーズは{v}です。|시드 구문: {v}"),
)  # fmt: skip


BY_NUMBER = (
    ("pin", 5, "Enter code {v} to continue|Votre code à usage unique : {v}|su código de un solo uso es {v}|kod jednorazowy: {v}|动态码：{v}|확인코드 {v}|PUK: {v}|codice porta {v}|mein Einmalcode: {v}"),
    ("card_security_code", 3, "Prüfnummer {v}|kod zabezpieczający {v}|卡背面三位数是{v}|カード確認番号：{v}|veiligheidscode: {v}"),
    ("passport", 9, "pasaporte n.º {v}|passaporte n.º {v}, válido|paspoortnr. {v}"),
    ("driving_licence", 9, "carta de condução n.º {v}|patente n. {v}|n° de permis {v}|carné de conducir {v}|rijbewijsnr. {v}|免許番号：{v}"),
    ("bank_account", 10, "my checking account is {v}|sort code 20-10-53, account {v}|cuenta {v} del Santander|nr rachunku {v}|conto n. {v}|Girokonto {v}|普通口座 {v}|통장번호: {v}"),
    ("health_id", 9, "insurance policy number {v}|n° d'assuré : {v}|住院号：{v}|記号番号 {v}|Versicherten-Nr. {v}|nr polisy: {v}|차트번호 {v}"),
    ("national_id", 9, "steuerliche Identifikationsnummer {v}|numéro de sécu : {v}|证件号码：{v}|在留カード番号：{v}|nr dowodu: {v}|SV-Nummer {v}"),
    ("phone", 9, "Rückrufnummer: {v}|numer kontaktowy {v}|連絡先：{v}|recapito: {v}"),
    ("device_id", 15, "imei {v}, gestohlen"),
)  # fmt: skip
BORN = "D.O.B. {v}|生于{v}|nato a Roma il {v}|born in Leeds on {v}|né à Lyon le {v}|{v} 일생"
SESSIONS = "cookies={{'session': '{v}'}}|sess={v};|session={v};"
USED = "ok, code is {v}|Enter code {v} to continue|Saisissez le code {v} pour entrer|Introduce el código {v} para seguir|Inserisci il codice {v} per entrare|Digite o código {v} para ver|Gebruik code {v} om te openen|Wpisz kod {v}, aby wejść|ログインコードは{v}|登录码{v}，勿泄露|로그인 코드 {v} 입니다|the lockbox is {v} now"
BACK = "the digits on the back are {v}|die Ziffern hinten: {v}|les chiffres au dos : {v}|裏面の3桁は{v}"
TOLD = "mon passeport porte le numéro {v}|mi pasaporte tiene el número {v}|Passport No ........ {v}|pass an: {v} ist meine Reisepassnr."
WIRED = "wire it to our Chase account {v}|moje konto {v}|account: {v}|acct {v}, thanks"
CAME = "urodziła się {v}|nació el {v}|kam am {v} zur Welt|BDAY:{v}|né à Nice le {v}"
CALLED = (
    "mongosh -u root -p {v} --quiet",
    "net user bo {v} /add",
    "useradd -m -p {v} bo",
    "ConvertTo-SecureString '{v}' -AsPlainText",
    "gh secret set KEY --body {v}",
    '["password"]=>\n  string(12) "{v}"',
    "find(By.ID, 'password').send_keys('{v}')",
    "get('[name=password]').type('{v}')",
)
ESCAPED = (
    'app[7]: {{"body": "Hello\\n{k}: {v}\\nBye"}} sent',
    "ValueError('bad form:\\t{k} {v}\\n')",
    "GET /cb?next=https%3A%2F%2Fa.example%2Fx%3F{k}%3D{v}%26go%3D1 HTTP/1.1",
    "payload=%7B%22{k}%22%3A%22{v}%22%7D",
    "text=the%20{k}%20is%20{v}%20thanks",
)
"""Texts within texts of code, JSON and URLs, whose signs are escaped."""
JOINED = "見た。{v}です|MAC:{v}|addr:{v}: seen|アドレス：{v}|—{v}—|...{v}|x%3D{v}%26y|a\\n{v}\\nb"
"""What stands right before and behind a value."""


def make_plants(seed: int) -> Iterator[Plant]:
    """A few hundred plants, other ones for each seed."""
    rng = random.Random(seed)
    for form in DOCUMENTS:
        for kind, key in FIELDS:
            value = _value_of(rng, kind)
            yield Plant(kind, value, form.format(k=key, v=value))
    for form in COMMANDS:
        value = make_password(rng)
        yield Plant("password", value, form.format(v=value))
    for word, forms in SENTENCES.items():
        for form in forms.split("|"):
            for value in (word, make_password(rng, word)):
                yield Plant("password", value, form.format(v=value, o=f"old{digits(rng, 3)}"))
    for kind, size, forms in NUMBERS:
        for form in forms.split("|"):
            value = digits(rng, size)
            yield Plant(kind, value, form.format(v=value))
    for form in KEY_FORMS:
        value = make_key(rng, form)
        yield Plant("api_key", value, f"Bitte {value} verwenden")
        yield Plant("api_key", value, f"「{value}」")
    for _ in range(40):
        value = make_card(rng)
        yield Plant("card", value, rng.choice(("pay with {}.", "id,note\n7,{},2\n", "<{}>", "卡{}。")).format(value))
    for local in ("王小明abc", "田中.taro", "김민수kim", "李雷"):
        yield Plant("email", local, f"an {local}@example.org, bitte")
    for kind, names in NAMES:
        for name, form in product(names.split("|"), FILLED_IN):
            value = _value_of(rng, kind)
            yield Plant(kind, value, form.format(k=name, v=value))
    for kind, forms in SAID_NOW:
        for form in forms.split("|"):
            value = _value_of(rng, kind)
            yield Plant(kind, value, form.format(v=value))
    value = f"0049{rng.randrange(150, 180)}{digits(rng, 8)}"
    yield Plant("phone", value, f"Usa {value} per questo.")
    value = f"{draw(rng, 'abcdef', 2)}{digits(rng, 2)}.{digits(rng, 4)}.{draw(rng, 'abcdef', 4)}"
    yield Plant("mac_address", value, f"port 3 has {value} behind it")

    for kind, size, forms in BY_NUMBER:
        for form in forms.split("|"):
            value = digits(rng, size)
            yield Plant(kind, value, form.format(v=value))
    for kind, forms in (("date_of_birth", BORN), ("secret", SESSIONS)):
        for form in forms.split("|"):
            value = _value_of(rng, kind)
            yield Plant(kind, value, form.format(v=value))
    for kind, size, forms in (
        ("pin", 6, USED),
        ("card_security_code", 3, BACK),
        ("passport", 9, TOLD),
        ("bank_account", 11, WIRED),
    ):
        for form in forms.split("|"):
            value = digits(rng, size)
            yield Plant(kind, value, form.format(v=value))
    for form in CAME.split("|"):
        value = _value_of(rng, "date_of_birth")
        yield Plant("date_of_birth", value, form.format(v=value))
    for form in CALLED:
        value = draw(rng, MIXED, 5) + rng.choice("!#*") + draw(rng, MIXED, 5) + digits(rng, 1)
        yield Plant("password", value, form.format(v=value))
    for form, (kind, key) in product(ESCAPED, FIELDS):
        value = draw(rng, MIXED, 9) + digits(rng, 2) if kind == "password" else _value_of(rng, kind)
        yield Plant(kind, value, form.format(k=key, v=value))
    for form in ("anota aí: {}", "o senhor passou {} ontem", "pode conferir o {} pra mim?"):
        value = cpf(rng).replace(".", "").replace("-", "")
        yield Plant("tax_id", value, form.format(value))
    for form in JOINED.split("|"):
        for kind, value in _addresses(rng):
            yield Plant(kind, value, form.format(v=value))


def _addresses(rng: random.Random) -> Iterator[tuple[str, str]]:
    yield "ip_address", f"2a02:{':'.join(rng.choice('123456789') + draw(rng, HEX, 3) for _ in range(7))}"
    yield "ip_address", f"185.{rng.randrange(10, 250)}.{rng.randrange(10, 250)}.{rng.randrange(10, 250)}"
    yield "mac_address", ":".join(draw(rng, HEX, 2) for _ in range(5)) + ":5e"


def _value_of(rng: random.Random, kind: str) -> str:  # noqa: PLR0911
    match kind:
        case "password":
            return make_password(rng)
        case "secret":
            return f"{draw(rng, MIXED, 20)}{digits(rng, 3)}aB{draw(rng, MIXED, 6)}"
        case "card_security_code":
            return digits(rng, 3)
        case "device_id":
            return digits(rng, 15)
        case "passport" | "driving_licence":  # more letters than digits
            return f"C{digits(rng, 1)}{draw(rng, 'FGHJKLMNPRT', 4)}{digits(rng, 1)}{draw(rng, 'FGHJKL', 2)}"
        case "health_id":
            return f"K{digits(rng, 9)}"
        case "seed_phrase":
            return " ".join(draw(rng, "abcdefghijklm", rng.randrange(4, 9)) for _ in range(12))
        case "tax_id" | "bank_account":
            return digits(rng, 10)
        case "phone":
            return digits(rng, 10)
        case "pin":
            return digits(rng, 4)
        case "date_of_birth":
            return f"{rng.randrange(10, 29)}.{rng.randrange(10, 13)}.{rng.randrange(1940, 2005)}"
        case _:
            return digits(rng, 9)
