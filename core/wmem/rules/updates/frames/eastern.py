"""Lexicons of Polish, Czech, Russian, Ukrainian, Finnish, Turkish, Hungarian, Arabic and Hindi."""

from wmem.rules.updates.frames.lexicon import Lexicon, ordinals, verbs, words

POLISH = Lexicon(
    verbs=verbs(
        be="to jest jestem",
        name="nazywa nazywam",
        live="mieszkam mieszka",
        work="pracuję pracuje",
        do="wolę woli piję pije palę pali używam używa",
        add="lubię lubi kocham mam ma",
        move="przeprowadziłem przeprowadziłam przeprowadził przeprowadziła",
        take="kosztuje trwa zaczyna kończy działa wygasa waży",
    ),
    me=words("ja my użytkownik"),
    mine=words("mój moja moje mojego mojej nasz nasza"),
    dropped=words("się ten ta"),
    at=words("w we na do o jako z dla u"),
    now=words("teraz obecnie już"),
    leads={"właściwie": True, "korekta": True, "nie": True, "jak mówiłem": False},
    no=words("nie nigdy"),
    more=words("już więcej"),
    but=words("lecz tylko"),
    names=words("imię"),
    single=words("ulubiony ulubiona ulubione hasło adres telefon numer urodziny termin kod czynsz spotkanie"),
    refused=words(
        "gdyby jeśli chciałbym chciałabym może mówi powiedział był była było byłem mieszkałem wcześniej i lub albo też także jeszcze on ona jego jej "
        "że kto co gdzie jak bo pierwszy druga drugi inny inna następny następne ostatni każdy przyjaciel sąsiad cel problem wczoraj dziś jutro"
    ),
    inflects=True,
    several=words(
        "brat siostr syn córk dzieck kuzyn wuj cioc przyjaci koleg koleż sąsiad klient dostawc członk hobby język alergi cel problem powód ryzyk krok zwierz książk film piosenk"
    ),
    ordinals=ordinals("pierwszym drugim trzecim czwartym piątym szóstym siódmym ósmym dziewiątym dziesiątym"),
)
CZECH = Lexicon(
    verbs=verbs(
        be="je jsem",
        name="jmenuje jmenuji",
        live="bydlím bydlí žiju žije",
        work="pracuju pracuji pracuje",
        do="piju kouřím používám",
        add="mám má miluju",
        move="přestěhoval přestěhovala",
        take="stojí trvá začíná končí běží váží",
    ),
    me=words("já my uživatel"),
    mine=words("můj moje má mého náš naše"),
    dropped=words("se ten ta to"),
    at=words("v ve na do u jako pro z"),
    now=words("teď nyní už"),
    leads={"vlastně": True, "oprava": True, "ne": True},
    no=words("ne není nemám"),
    names=words("jméno"),
    single=words("oblíbená oblíbený oblíbené heslo adresa telefon číslo narozeniny termín"),
    refused=words(
        "kdyby jestli chtěl možná říká řekl byl byla bylo a nebo taky také ještě on ona jeho její že kdo co kde první druhý druhá jiný další každý přítel cíl včera dnes zítra rád"
    ),
    inflects=True,
    several=words(
        "bratr sestr syn dcer dít bratran přítel kamarád koleg soused klient zákazník dodavatel člen koníč jazyk alergi cíl problém důvod rizik krok kniha film"
    ),
    ordinals=ordinals("prvním druhém třetím čtvrtém pátém šestém sedmém osmém devátém desátém"),
)
RUSSIAN = Lexicon(
    verbs=verbs(
        be="— - это – является",
        name="зовут",
        live="живу живёт живет живем",
        work="работаю работает",
        do="предпочитаю пью курю использую",
        add="люблю любит имею",
        move="переехал переехала переехали",
        take="стоит длится начинается заканчивается истекает открывается закрывается весит",
    ),
    me=words("я мы пользователь"),
    mine=words("мой моя моё мою моего моей моему наш наша"),
    dropped=words("у"),
    at=words("в во на из с как к для"),
    now=words("теперь сейчас"),
    leads={"вообще-то": True, "поправка": True, "нет": True, "как я говорил": False},
    no=words("не никогда"),
    more=words("больше"),
    but=words("а"),
    names=words("имя"),
    single=words("любимый любимая любимое любимые пароль адрес телефон номер почта встреча срок дедлайн код"),
    refused=words(
        "если бы хотел хотела может говорит сказал был была было жил жила раньше и или также тоже ещё он она его её их что кто где как потому первый первая второй вторая другой другая следующий следующая последний каждый друг сосед цель проблема вчера сегодня завтра году"
    )
    - words("как"),
    inflects=True,
    bare=True,
    several=words(
        "брат сестр сын доч ребён ребен дет кузен дяд тёт друг подруг коллег сосед клиент заказчик поставщик конкурент член хобби язык аллерги цель проблем причин риск шаг питом книг фильм песн увлечен"
    ),
    ordinals=ordinals("первом втором третьем четвёртом|четвертом пятом шестом седьмом восьмом девятом десятом"),
)
UKRAINIAN = Lexicon(
    verbs=verbs(
        be="— - це – є",
        name="звати",
        live="живу живе мешкаю мешкає",
        work="працюю працює",
        do="п'ю палю використовую",
        add="люблю любить маю",
        move="переїхав переїхала",
        take="коштує триває починається закінчується",
    ),
    me=words("я ми користувач"),
    mine=words("мій моя моє мою мого моєї наш наша"),
    dropped=words(""),
    at=words("у в на з як до для"),
    now=words("тепер зараз"),
    leads={"насправді": True, "ні": True},
    no=words("не ніколи"),
    more=words("більше"),
    names=words("ім'я"),
    single=words("улюблений улюблена улюблене пароль адреса телефон номер зустріч термін код"),
    refused=words(
        "якщо би хотів хотіла може каже сказав був була було жив раніше і й та або також теж ще він вона його її що хто де перший друга другий інший наступний останній кожен друг мета вчора сьогодні завтра році"
    ),
    inflects=True,
    several=words(
        "брат сестр син доч дит друг подруг колег сусід клієнт член хобі мов алергі ціль мет проблем причин ризик крок книг фільм"
    ),
)
FINNISH = Lexicon(
    verbs=verbs(be="on olen", live="asun asuu", work="työskentelen työskentelee", move="muutin muutti"),
    me=words("minä me käyttäjä"),
    mine=words("minun meidän"),
    dropped=words("se"),
    now=words("nyt nykyään"),
    no=words("ei en"),
    names=words("nimi"),
    single=words("lempivärini lempiruokani suosikki salasana osoite puhelinnumero"),
    refused=words(
        "jos ehkä sanoi sanoo oli olin ja tai myös vielä hän hänen että kuka mitä missä ensimmäinen toinen seuraava joka kanssa vanhempieni eilen tänään"
    ),
    inflects=True,
)
TURKISH = Lexicon(
    verbs=verbs(live="yaşıyorum yaşıyor oturuyorum oturuyor", work="çalışıyorum çalışıyor", move="taşındım taşındı"),
    me=words("ben biz kullanıcı"),
    mine=words("benim bizim"),
    dropped=words("en"),
    now=words("artık şimdi şu"),
    no=words("değil"),
    names=words("adı ismi"),
    single=words("sevdiğim şifre adres telefon numara"),
    refused=words(
        "eğer belki dedi diyor idi eskiden ve veya da de onun kim ne nerede ilk ikinci diğer sonraki her arkadaşım önce dün bugün yarın mı mi mu mü"
    ),
    inflects=True,
    verb_last=True,
    bare=True,
)
HUNGARIAN = Lexicon(
    verbs=verbs(live="élek él lakom lakik", work="dolgozom dolgozik", move="költöztem költözött"),
    me=words("én mi"),
    mine=words("az a"),
    dropped=words(""),
    now=words("most mostantól már"),
    no=words("nem"),
    names=words("neve nevem"),
    single=words("kedvenc jelszó cím telefonszám"),
    refused=words(
        "ha talán mondta volt és vagy is még ő aki mi hol első második másik következő minden tegnap ma szüleimmel"
    ),
    inflects=True,
    verb_last=True,
    bare=True,
)
ARABIC = Lexicon(
    verbs=verbs(be="هو هي", live="أعيش يعيش تعيش أسكن", work="أعمل يعمل تعمل", add="أحب يحب", move="انتقلت"),
    me=words("أنا نحن"),
    mine=words(""),
    dropped=words(""),
    at=words("في إلى لدى"),
    now=words("الآن حاليا"),
    no=words("لا ليس"),
    names=words("اسم اسمي"),
    single=words("لوني المفضل المفضلة عنواني هاتفي"),
    refused=words("لو ربما قال كان كانت و أو أيضا هل من ما أين كيف أول ثاني آخر كل أمس اليوم غدا مع"),
    bare=True,
)
HINDI = Lexicon(
    verbs=verbs(live="रहता रहती रहते", work="काम"),
    me=words("मैं हम"),
    mine=words("मेरे मेरी मेरा हमारा हमारी"),
    dropped=words("है हूँ हैं का की के में"),
    now=words("अब"),
    no=words("नहीं"),
    names=words("नाम"),
    single=words("पसंदीदा पता नंबर पासवर्ड"),
    refused=words("अगर शायद कहा था थी और या भी क्या कौन कहाँ पहला दूसरा दूसरी हर कल साथ"),
    verb_last=True,
    bare=True,
)
EASTERN = (POLISH, CZECH, RUSSIAN, UKRAINIAN, FINNISH, TURKISH, HUNGARIAN, ARABIC, HINDI)
