"""Whether a mere word is a password, from how people say it in a sentence: "mein Passwort ist sonnenblume".

A word that says something about passwords ("falsch") is none, nor is one that names a thing of theirs ("field").
"""

import re

from wmem.rules.redaction.labels.table import split_words
from wmem.rules.redaction.labels.values import is_mixed, is_password, is_placeholder, says_label

_LEAST_WORD = 5
_LEAST_LATIN = 4
_SAID_OF_PASSWORDS = split_words(
    "wrong incorrect correct required invalid expired missing weak strong short long simple complex empty blank safe secure secret hidden visible lost gone "
    "needed optional mandatory random temporary ready fine okay good great better best worse right different unique similar identical numeric alphanumeric "
    "stolen broken known unknown forgotten written shown given found taken chosen kept sent stale outdated obsolete important crucial mine yours theirs ours "
    "case sensitive everywhere anywhere nowhere elsewhere online offline later today tomorrow yesterday again always never often maybe perhaps enough easy hard "
    "there here where what which that this these those them itself something nothing anything everything continue proceed login access unlock comply begin start "
    "expire regain avoid prevent protect enter finish complete update reset recover verify confirm gain work about after before above below between first second "
    "third anyone anybody someone somebody nobody everyone everybody other another also instead twice once soon"
    # German
    " falsch richtig abgelaufen vergessen ungültig gültig sicher unsicher schwach stark zu nicht kein keine mehr leer gleich anders geheim bekannt unbekannt "
    "weg hier dort jetzt noch schon immer wieder geändert gesetzt gespeichert zurückgesetzt verloren einfach schwer lang kurz wichtig korrekt nötig "
    "erforderlich notwendig eingeben festlegen ändern zurücksetzen morgen heute gestern gestohlen geknackt"
    # French
    " faux fausse incorrect incorrecte correct correcte expiré oublié perdu invalide valide faible fort trop simple vide requis requise obligatoire pas plus ici "
    "toujours encore sûr secret différent identique long court nécessaire bon mauvais changé volé important"
    # Spanish, Portuguese, Italian
    " incorrecta incorrecto correcta correcto errónea inválida válida débil fuerte demasiado segura seguro vacía obligatoria necesaria distinta igual misma siempre "
    "aquí larga corta secreta importante mala buena fácil difícil nueva vieja robada "
    "incorreta incorreto correta errada inválido fraca forte muito vazia obrigatória diferente sempre aqui longa curta secreta roubada fraco não mesma "
    "sbagliata sbagliato errata corretta scaduta dimenticata debole troppo sicura vuota obbligatoria diversa uguale sempre qui lunga corta segreta necessaria facile "
    "difficile importante rubata persa non stata stato"
    # Dutch, Swedish, Danish, Norwegian
    " verkeerd onjuist juist verlopen vergeten ongeldig zwak sterk leeg verplicht nodig anders hetzelfde altijd hier lang kort geheim veilig onveilig gestolen niet "
    "fel felaktigt rätt utgånget glömt svagt starkt tomt annat alltid här långt kort hemligt säkert inte forkert feil glemt utløpt svakt"
    # Polish, Czech, Ukrainian, Russian
    " złe błędne niepoprawne poprawne nieprawidłowe wygasło zapomniane słabe silne puste wymagane inne zawsze tutaj długie krótkie tajne bezpieczne "
    "špatné chybné správné neplatné slabé silné prázdné jiné vždy dlouhé krátké tajné bezpečné zapomenuté špatně správně "
    "неверный неверен верный неправильный правильный истёк истек забыт забыл забыла потерян потерял слабый сильный пустой другой всегда здесь длинный короткий "
    "надёжный секретный простой сложный нужен нужно украли украден изменён изменен сменил сброшен сбросил подходит работает устарел опять снова тоже теперь невірний "
    "обязателен должен должна можно нельзя хранится зашифрован учётной учетной записи пользователя администратора базы почты"
    # Turkish, transliterated
    " yanlış doğru hatalı geçersiz zayıf güçlü boş farklı aynı burada uzun kısa gizli güvenli gerekli değil unuttum yenile değiştir çalındı"
)
_THINGS = split_words(
    "manager managers field fields reset policy policies protection generator hint hints box prompt dialog form input authentication auth hashing hash login option "
    "options feature button page vault recovery change changes check checker strength rules rule requirements requirement storage store encryption entry screen "
    "column parameter argument variable value method function file database account settings setting protected-mode spray spraying cracking guess guessing "
    "provided given supplied again only once twice wisely carefully instead correctly properly please sharing hygiene spreadsheet notebook feld manager richtlinie "
    "gestor campo generador gestionnaire champ gestore wachtwoordbeheerder menedżer pole"
)
_ENDINGS = (
    *("ed", "ing", "able", "ible", "ive", "al", "ly", "ful", "less", "ous"),
    *(
        "lich",
        "bar",
        "sam",
        "ierbar",
        "ado",
        "ida",
        "ido",
        "ada",
        "mente",
        "ment",
        "ée",
        "és",
        "ées",
        "ato",
        "ata",
        "uto",
        "uta",
        "ível",
        "ibile",
        "abile",
    ),
    *(
        "ный",
        "ная",
        "ное",
        "ной",
        "ным",
        "ого",
        "ать",
        "ить",
        "ется",
        "ится",
        "ться",
        "ован",
        "лся",
        "лась",
        "ился",
        "ał",
        "ała",
        "any",
        "ane",
        "owane",
        "ować",
        "ný",
        "né",
        "ený",
    ),
)
_NAMES = split_words(
    "wi-fi wifi wlan github gitlab google gmail youtube iphone ipad icloud facebook whatsapp linkedin paypal postgresql postgres mysql mongodb javascript oauth "
    "windows linux android apple amazon netflix instagram telegram twitter wechat alipay docker root admin bcrypt scrypt argon2 md5 sha256 sha1 hash hashed string "
    "email vpn router manager reset length field type keepass bitwarden lastpass 1password nginx redis excel outlook skype zoom steam server"
)
_USED = r"(?:use|try|type|enter|benutze|benutzen|nutze|verwende|nimm|utilise|utilisez|entre|entrez|tape|usa|use|utiliza|usar|ingresa|introduce|pon|inserisci|digite|digita|gebruik|użyj|uzyj|wpisz|используй|используйте|введи|введите|použij|använd|skriv|bruk|brug|kullan|gir)"
_USE_BEFORE_HERE = re.compile(
    rf"(?:^|[\s\"'(]){_USED}[ ](?:the[ ]|das[ ]|le[ ]|la[ ]|el[ ]|a[ ]|het[ ]|o[ ]|my[ ]|[a-zäöü]{{1,10}}-?)?$",
    re.IGNORECASE,
)
_LOGIN_BEFORE_HERE = re.compile(
    r"(?:\b(?:login|user|username|user name|account|benutzer|benutzername|utilisateur|identifiant|usuario|utente|usuário|gebruiker|użytkownik|логин|пользователь|имя|kullanıcı)|用户名|用户|账号|帳號|ユーザー名?|아이디)"
    r"[ ]?(?:is|ist|est|es|è|é|jest|[:：=]|是|は)?[ ]?[^\s,，;；]{1,64}[,，;；]?[ ](?:and |und |et |y |e |en |i |и )?(?:the |das |le |la |a |het )?$|(?:用户名|用户|账号|帳號|ユーザー名?)[是は:：]?[ ]?[\w.@\-]{1,64}[,，、;；][ ]?$",
    re.IGNORECASE,
)
_CHANGE_WORD = (
    r"(?:chang\w{0,3}|set|reset|updat\w{0,3}|switch\w{0,3}|änder\w{0,4}|geänder\w{0,3}|gesetzt|cambi\w{0,5}|actualic\w{0,3}|mud\w{1,5}|alter\w{1,4}|troqu\w{1,3}|modifi\w{1,4}|impost\w{1,5}|mis|chang\w{1,4}"
    r"|verander\w{0,3}|gewijzigd|wijzig\w{0,3}|zmieni\w{1,5}|ustawi\w{1,5}|сменил\w?|поменял\w?|изменил\w?|поставил\w?|byt|bytte|ändra\w{0,3}|změnil\w?|nastavil\w?)"
)
_CHANGE_BEFORE_HERE = re.compile(rf"\b{_CHANGE_WORD}\b[^.!?\n]{{0,40}}$", re.IGNORECASE)
_CHANGE_TO_HERE = re.compile(
    r"(?:[ ](?:[^\W\d_]{1,14})){0,3}?[ ](?:to|auf|in|a|en|para|naar|na|на|till|til|zu)[ ](?P<open>[\"'`«„“])?[ ]?(?P<value>[^\s\"'`«»„“”,;]{4,64})"
)
_FROM_HERE = re.compile(r"[ ]from[ ][^\s]{1,64}[ ]to[ ](?P<value>[^\s\"'`,;]{4,64})")
_DIRECT_WORD_HERE = re.compile(r"[ ](?P<value>[^\s\"'`,;:=]{4,64})")
_AS_BEFORE_HERE = re.compile(
    r"[ ](?P<value>[^\s\"'`,;:=]{5,64})[ ](?:as|als|comme|como|come|jako|как)[ ](?:the |my |das |mein |le |la |el |mi |a |minha )?$"
)
_SAID_HERE = (
    re.compile(r"['’]s[ ](?P<value>[^\s\"'`,;:=]{4,64})"),
    re.compile(
        r"\?[ ](?:it['’]?s|it is|das ist|es ist|c['’]est|es|è|é|это)[ ](?P<value>[^\s\"'`,;:=]{4,64})", re.IGNORECASE
    ),
    re.compile(
        r"(?:[ ][^\s.,;:!?=]{1,14}){0,3},?[ ](?:c['’]est|será|sera|sarà|är|je|—)[ ](?P<value>[^\s\"'`,;:=]{4,64})"
    ),
)
_RUSSIAN_HERE = re.compile(r"(?:[ ]от[ ][^\s.,;:]{2,16}(?:[ ]-)?|[ ]-)[ ](?P<value>[^\s\"'`,;:=]{4,64})")
_HERE_BEFORE_HERE = re.compile(
    r"\b(?:here['’]?s|here is|this is|hier ist|voici|aquí está|aqui está|ecco|oto|вот)\b[^.!?\n]{0,32}$", re.IGNORECASE
)
_AFTER_COMMA_HERE = re.compile(r"[,:][ ](?P<value>[^\s\"'`,;:=]{4,64})")
_IN_PARENTHESES_HERE = re.compile(r"[ ]\((?P<value>[^\s\"'`,;:=()]{4,64})\)")
_MINE_BEFORE_HERE = re.compile(
    r"\b(?:my|our|his|her|mein|meine|mon|mi|mio|mia|meu|minha|mijn|moje|мой)[ ](?:[^\W\d_]{1,12}[ -])?$", re.IGNORECASE
)
_OWN_BEFORE_HERE = re.compile(r"(?:^|[\s(])(?:мой|твой|наш|его|её|мій|наш)[ ]$", re.IGNORECASE)
_OWN_LABELS = frozenset({"şifrem", "parolam", "şifresi", "parolası", "şifremi", "parolamı"})
_LONG_END_HERE = re.compile(
    r"[\"'`»“”)\]]{0,2}(?:[.!?。！？…]{0,3}\s*$|[ \t]*\r?\n|[.,;!?。，；！？](?:\s|$)|[，。；])|[ ](?:geändert|gesetzt|है|olarak|yaptım|yaptim|oldu|umgestellt|veranderd|gewijzigd)(?!\w)"
)
_OTHER_SCRIPT = re.compile("[\u0370-\u1fff\u2c00-\ud7af]")
_LATIN_HERE = re.compile(
    r"(?P<gap>(?:[ ]?(?:的|就|现在|現在|已)?(?:是|为|為|改成了?|改为了?|改為了?|换成了?|換成了?|设为|設為|设置为|設置為|设成|叫做?|用的是)|[ ]?(?:は|が|を|는|은|가|이|를|을)"
    r"|(?:[ ][\u0400-\u04ff\u0590-\u06ff\u0900-\u097f]{1,14}){0,3}|[^\W\d_a-z]{0,4}(?:은|는)|)[ ]?[:：\-—]?[ ]?[\"'「«“]?[ ]?)(?P<value>[!-~]{4,64})"
)
_NOT_SAID_HERE = re.compile(
    "(?:加密|哈希|格式|编码|类型|字段|算法|长度|型|形式|の|文字|をリセット|を忘|リセット|अक्षर|символ|знак|를 잊|을 잊|를 변경하|초기화)"
)
_NEGATED = re.compile("не[ ]|невер|неправ|забы|должен|минимум|خاطئ|غير|يجب|نسيت|गलत|भूल|चाहिए|忘|错|錯|不")


def is_word_of_pass(value: str, *, is_sure: bool) -> bool:
    """Whether a word after "the password is" may be it, rather than say something about it.

    Args:
        is_sure: What stands before says that a value follows.
    """
    if not value.isalpha() or len(value) < _LEAST_WORD or is_placeholder(value) or says_label(value):
        return False
    lower = value.lower()
    return is_sure or not (lower in _SAID_OF_PASSWORDS or lower in _THINGS or lower.endswith(_ENDINGS))


def _may_be(value: str) -> bool:
    """Whether what stands at the end of a clause, where a password is said, is one."""
    if value.lower() in _NAMES or value.lower() in _THINGS:
        return False
    if value.isalpha():
        return is_word_of_pass(value, is_sure=False)
    return is_mixed(value) and is_password(value, quoted=False, ends=True)


def says_what(value: str) -> bool:
    """Whether a word says something about passwords, or names a thing of theirs."""
    return value.lower() in _SAID_OF_PASSWORDS or value.lower() in _THINGS


def find_said_password(text: str, label: str, start: int, end: int) -> tuple[int, int] | None:
    """A password that a sentence has beside its label, where no sign stands between: where it is."""
    before = text[max(0, start - 80) : start]
    if _OTHER_SCRIPT.search(label) and (place := _latin_word(text, before, end)):
        return place
    limit = min(len(text), end + 160)
    for pattern in _SAID_HERE:
        if (match := pattern.match(text, end, limit)) and (place := _ending(text, match)):
            return place
    if label.startswith("парол") and (match := _RUSSIAN_HERE.match(text, end, limit)):
        return _ending(text, match)
    if _HERE_BEFORE_HERE.search(before) and (match := _AFTER_COMMA_HERE.match(text, end, limit)):
        return _ending(text, match)
    if (
        (match := _IN_PARENTHESES_HERE.match(text, end, limit))
        and _may_be(match["value"])
        and (is_mixed(match["value"]) or _MINE_BEFORE_HERE.search(before))
    ):
        return match.span("value")
    if _CHANGE_BEFORE_HERE.search(before) and (match := _FROM_HERE.match(text, end, limit)):
        return _ending(text, match)
    change = _CHANGE_TO_HERE.match(text, end, limit)
    if change and (
        _CHANGE_BEFORE_HERE.search(before)
        or re.search(rf"[ ]{_CHANGE_WORD}[ ]", text[end : change.start("value")])
        or re.match(rf"[ ]{_CHANGE_WORD}", text[change.end() : change.end() + 24])
    ):
        return _ending(text, change)
    if (
        _USE_BEFORE_HERE.search(before)
        or _LOGIN_BEFORE_HERE.search(before)
        or _OWN_BEFORE_HERE.search(before)
        or label in _OWN_LABELS
    ) and (direct := _DIRECT_WORD_HERE.match(text, end, limit)):
        return _ending(text, direct)
    if as_ := _AS_BEFORE_HERE.search(before):
        value = as_["value"]
        if _may_be(value) and re.search(r"\b(?:log|sign|einlogg|connect|acced|entr)", before, re.IGNORECASE):
            at = start - len(before)
            return at + as_.start("value"), at + as_.end("value")
    return None


def _ending(text: str, match: "re.Match[str]") -> tuple[int, int] | None:
    """Where the value of a match is, if its clause ends there."""
    value = match["value"].rstrip(".!?…)*»”")
    begin = match.start("value")
    if not _may_be(value) or not _LONG_END_HERE.match(text, begin + len(value)):
        return None
    return begin, begin + len(value)


def _latin_word(text: str, before: str, end: int) -> tuple[int, int] | None:
    """Latin letters after a label of another script, which are no word of its language."""
    match = _LATIN_HERE.match(text, end, min(len(text), end + 120))
    if match is None or _NEGATED.search(match["gap"]):
        return None
    value = re.split(r"[,;](?:\s|$)|[\"'`](?:[,;.]|$)", match["value"])[0].rstrip(".,;:!?)]}\"'`")
    begin = match.start("value")
    after = text[begin + len(value) : begin + len(value) + 8]
    if len(value) < _LEAST_LATIN or _NOT_SAID_HERE.match(after) or value.lower() in _NAMES or value.lower() in _THINGS:
        return None
    if (
        not match["gap"].strip()
        and not _LOGIN_BEFORE_HERE.search(before)
        and value.islower()
        and not _LONG_END_HERE.match(text, begin + len(value))
    ):
        return None
    if not is_password(value, quoted=False, ends=True) or not (is_mixed(value) or value.islower()):
        return None
    return begin, begin + len(value)
