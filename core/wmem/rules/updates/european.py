"""Ways to say in German, French and Spanish what is so, and what has changed; fewer than in English, and plain ones."""

from wmem.rules.updates.table import StatementRow, StatementTable


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _days(names: str) -> dict[str, str]:
    """The days by their names in a language, several of one day joined by bars."""
    english = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
    return {form: day for day, forms in zip(english, names.split(), strict=True) for form in forms.split("|")}


def _numbers(names: str) -> dict[str, str]:
    return {word: str(number) for number, word in enumerate(names.split(), 2)}


def _states(names: str) -> dict[str, str]:
    return {word: word for word in names.split()}


_VALUE = r"(?P<value>[^;()]{1,60})"
_WITHIN = r"(?P<value>[^;()]{1,40}?)"
_BEFORE = r"(?P<before>[\w .:%$€£/'-]{1,30}?)"
_THING = r"(?:[\w#./'&-]{1,24} ){0,4}?[\w#./'&-]{1,24}"

# --- German

_DE_ADVERB = r"(?:(?:jetzt|nun|inzwischen|mittlerweile|aktuell|derzeit|seit \w{2,12}|immer|auch|gerade|letzte \w{3,8}|letzten \w{3,8}|vor kurzem|neulich|endlich|leider) ){0,3}"
_DE_NOUN = rf"(?:mein|meine|meinen|unser|unsere|unseren|der|die|das|den) {_THING}"
_DE_ME = r"(?:ich|wir)"
_DE_AT = r"(?:(?:am|um|im|in|bei|auf|zu|für|gegen|mit|aus|von) )?"

GERMAN = StatementTable(
    capital_nouns=True,
    lead=(
        r"\W{0,6}(?:(?:hallo|hi|ok|okay|also|und|aber|ja|nein|übrigens|update|korrektur|kleine korrektur|entschuldigung|sorry|eigentlich"
        r"|zur info|nur zur info|bitte beachten?|ach|ab jetzt|ab sofort|jetzt|seit gestern|gestern|heute)(?!\w)[,:;.!-]{0,2} ?){0,4}"
    ),
    joint=r"[,;:] (?:und |aber |sondern |denn )?| (?:und|aber|denn) (?=(?:ich|wir|mein|meine|unser|unsere|der|die|das|es)\b)| [-–—] |[(]",
    doubt=(
        r"^(?:wenn|falls|ob|angenommen|vielleicht|bevor|nachdem)\b|\b(?:würde|würden|könnte|könnten|möchte|möchten|hätte|wäre|will|wollen"
        r"|plane|planen|überlege|sagt|sagte|meint|meinte|erzählte|zum beispiel|früher)\b"
    ),
    now=r"\b(?:jetzt|nun|inzwischen|mittlerweile|korrektur|update|eigentlich|stattdessen|ab sofort|lieber|doch|sorry|entschuldigung|sondern)\b",
    past=(
        r"\b(?:früher|damals|vorher|zuvor|ursprünglich|anfangs|ehemals|zuerst|alte[rns]?|vorherige[rns]?|war|waren|hatte|hieß|wohnte|lebte|arbeitete)\b"
        r"|\bhabe? (?:ich|wir)\b.{0,40}\bge\w{2,14}(?:t|en)\b"
    ),
    present=r"\b(?:jetzt|aktuell\w{0,2}|derzeit|heute|inzwischen|neueste[rns]?|gesagt|erzählt|erwähnt|beschlossen)\b",
    article="die",
    pronouns=_words("es ihn sie das er ihm"),
    first_person=_words("ich wir nutzer benutzer"),
    owners=_words("mein meine meinen unser unsere unseren"),
    articles=_words("der die das den dem ein eine einen"),
    others=_words(
        "erste ersten zweite zweiten dritte andere anderen anderer nächste nächsten letzte letzten jeder jede jedes manche zwei drei alte alter alten"
    ),
    renewed=_words("neue neuer neues neuen aktuelle aktueller jetzt inzwischen"),
    one_value=_words(
        "adresse email e-mail telefonnummer handynummer nummer passwort arbeitgeber lieblingsfarbe lieblingsessen lieblingsband "
        "lieblingsbuch lieblingsfilm datenbank sprache framework währung zeitzone benutzername"
    ),
    named=_words(
        "chef chefin vermieter arzt ärztin zahnarzt frau mann partner freundin freund budget frist deadline miete gehalt alter gewicht "
        "größe limit preis ziel tarif port version geburtstag auto bank verein schicht zimmer"
    ),
    dated=_words("frist deadline geburtstag ziel"),
    exclusive=_words("fahr bevorzug studier arbeit"),
    kin=_words("enkel enkelin cousin cousine onkel tante neffe nichte freund freundin sohn tochter bruder schwester hund katze kind kollege kollegin nachbar pferd vogel baby"),
    stops=_words(
        "seit mit für und aber oder weil in im an am auf bei wo der die das dass als jetzt nun wieder mehr statt von aus bis damit dann wenn "
        "nach vor durch pro jeden jede zu zum zur ein eine einen noch schon auch um"
    ),
    empty=_words(
        "es ihn sie ihm ihr das nicht sehr so wirklich zu hier da mir mich uns kein keine gut schlecht toll super fertig müde froh glücklich "
        "traurig krank wichtig schön ganz immer nie was wie warum wo wer etwas nichts alles fast ziemlich teil"
    ),
    common=_words("der die das dem den ein eine einem einer meiner meinem unserer hause haus wohnung stadt nacht büro schule dorf land"),
    verbs={**dict.fromkeys("ist sind beträgt kostet läuft beginnt startet findet steht liegt geht bleibt".split(), "be")},  # noqa: SIM905
    days=_days("montag|montags dienstag|dienstags mittwoch|mittwochs donnerstag|donnerstags freitag|freitags samstag|samstags|sonnabend sonntag|sonntags"),
    months="jan feb mär apr mai jun jul aug sep okt nov dez",
    numbers=_numbers("zwei drei vier fünf sechs sieben acht neun zehn elf zwölf"),
    states=_states("offen geschlossen fertig erledigt versandt geliefert storniert bezahlt kaputt aktiv inaktiv bestätigt"),
    rows=(
        StatementRow(
            "gezogen umgezogen",
            rf"(?P<who>{_DE_ME}|{_DE_NOUN}) (?:bin|sind|ist) {_DE_ADVERB}(?:von {_BEFORE} )?nach {_WITHIN} (?:um)?gezogen",
            attribute="live", kind="word", changes=True, proper=True,
        ),
        StatementRow(
            "wohne wohnen lebe leben wohnt lebt",
            rf"(?P<who>{_DE_ME}|{_DE_NOUN}) (?:wohnen?|wohnt|leben?|lebt) {_DE_ADVERB}(?:in|bei) {_VALUE}",
            attribute="live", kind="word", single=True, proper=True,
        ),
        StatementRow(
            "arbeite arbeiten arbeitet",
            rf"(?P<who>{_DE_ME}|{_DE_NOUN}) arbeite[nt]? {_DE_ADVERB}(?:bei|für) {_VALUE}",
            attribute="work", kind="word", single=True, proper=True,
        ),
        StatementRow(
            "umbenannt",
            rf"(?:ich habe|wir haben) (?P<who>ihn|sie|es|{_DE_NOUN}) {_DE_ADVERB}(?:in|zu) {_WITHIN} umbenannt",
            attribute="name", kind="name", changes=True,
        ),
        StatementRow(
            "umbenannt",
            rf"(?P<who>{_DE_NOUN}) wurde {_DE_ADVERB}(?:in|zu) {_WITHIN} umbenannt",
            attribute="name", kind="name", changes=True,
        ),
        StatementRow(
            "heißt heißen heisst",
            rf"(?P<who>{_DE_NOUN}) (?:heißt|heisst|heißen) {_DE_ADVERB}{_VALUE}",
            attribute="name", kind="name", single=True,
        ),
        StatementRow(
            "mehr",
            rf"(?:(?P<who>{_DE_NOUN}) (?:ist|sind|läuft|beginnt|geht|findet) )?nicht mehr (?P<value>{_DE_AT}[\w.:]{{2,20}}(?: [\w.:]{{2,12}})?)",
            attribute="be", changes=True, ends=True,
        ),
        StatementRow(
            "mehr",
            rf"(?P<who>{_DE_ME}) (?:bin|sind) (?:nicht|kein|keine) (?:mehr )?(?P<value>[\w-]{{3,24}})(?: mehr)?$",
            attribute="be", kind="word", changes=True, ends=True,
        ),
        StatementRow(
            "mehr",
            rf"(?P<who>{_DE_ME}) (?P<verb>[a-zäöüß]{{3,14}}) (?:(?P<value>[\w-]{{2,24}}) nicht mehr|(?:nicht|keine?n?) mehr|keine?n? (?P<thing>[\w-]{{2,24}}) mehr)$",
            kind="word", changes=True, ends=True,
        ),
        StatementRow(
            "verschoben verlegt geändert erhöht gesenkt angehoben verlängert gestiegen",
            rf"(?P<who>{_DE_NOUN}) (?:wurde|wurden|ist|sind) {_DE_ADVERB}(?:von {_BEFORE} )?(?:auf|nach|in|zu) {_WITHIN} (?:verschoben|verlegt|geändert|erhöht|gesenkt|angehoben|verlängert|gestiegen)",
            attribute="be", changes=True,
        ),
        StatementRow(
            "verschoben verlegt geändert erhöht gesenkt angehoben verlängert",
            rf"(?:ich habe|wir haben) (?P<who>es|das|ihn|sie|{_DE_NOUN}) {_DE_ADVERB}(?:von {_BEFORE} )?(?:auf|nach|in|zu) {_WITHIN} (?:verschoben|verlegt|geändert|erhöht|gesenkt|angehoben|verlängert)",
            attribute="be", changes=True,
        ),
        StatementRow(
            "gewechselt umgestiegen",
            rf"(?:ich bin|wir sind|ich habe|wir haben) {_DE_ADVERB}von {_BEFORE} (?:auf|zu) {_WITHIN} (?:gewechselt|umgestiegen)",
            kind="word", changes=True,
        ),
        StatementRow(
            "ist sind beträgt kostet läuft beginnt startet findet geht liegt",
            rf"(?P<who>{_DE_NOUN}) (?P<verb>ist|sind|beträgt|kostet|läuft|beginnt|startet|findet|geht|liegt) {_DE_ADVERB}(?P<value>{_DE_AT}[^;()]{{1,60}})",
            weak=True,
        ),
        StatementRow(
            "bin",
            r"(?P<who>ich) bin (?:jetzt )?(?P<value>\d{1,3})(?: jahre alt)?$",
            attribute="age", kind="number", single=True, weak=True,
        ),
        StatementRow(
            "bin",
            r"(?P<who>ich) bin (?:jetzt )?(?P<value>single|verheiratet|verlobt|geschieden|verwitwet|getrennt)$",
            attribute="status", kind="word", single=True, weak=True,
        ),
        StatementRow("bin", r"(?P<who>ich) bin (?P<value>[\w-]{3,24})$", attribute="be", kind="word", adds=True, weak=True),
        StatementRow(
            "fahre nutze trinke bevorzuge esse rauche studiere spiele",
            rf"(?P<who>ich) (?P<verb>fahre|nutze|trinke|bevorzuge|esse|rauche|studiere|spiele)(?: {_DE_ADVERB}(?:eine?n? |das |den |die )?{_VALUE})?",
            habit=True,
        ),
        StatementRow(
            "jetzt nun lieber doch mach sondern korrektur stattdessen",
            rf"(?:mach(?:e|en wir)? (?:es|das|daraus) |es ist |jetzt |lieber |doch |nun ){{0,2}}(?P<value>{_DE_AT}[^;()]{{1,60}})",
            attribute="be", changes=True, weak=True, refers=True,
        ),
    ),
)  # fmt: skip

# --- French

_FR_ADVERB = r"(?:(?:maintenant|désormais|actuellement|aussi|toujours|récemment|enfin|déjà|depuis \w{2,12}) ){0,3}"
_FR_NOUN = rf"(?:(?:mon|ma|mes|notre|nos|le|la|les) {_THING}|l'{_THING})"
_FR_ME = r"(?:je|nous|j')"
_FR_AT = r"(?:(?:à|au|en|le|de|d'|chez|pour|dans|avec) ?)?"

FRENCH = StatementTable(
    lead=(
        r"\W{0,6}(?:(?:bonjour|salut|ok|alors|et|mais|oui|non|au fait|mise à jour|correction|petite correction|désolée?|en fait|finalement"
        r"|pour info|à partir de maintenant|maintenant|hier|aujourd'hui)(?!\w)[,:;.!-]{0,2} ?){0,4}"
    ),
    joint=r"[,;:] (?:et |mais |car )?| (?:et|mais|car) (?=(?:je|j'|nous|mon|ma|notre|le|la|c'est)\b)| [-–—] |[(]",
    doubt=(
        r"^(?:si|quand|lorsque|peut-être|imaginons|avant|après)\b|\b(?:voudrais|voudrait|pourrais|pourrait|aimerais|serait|serais|veux|voulons"
        r"|pense|dit|disait|par exemple|autrefois)\b"
    ),
    now=r"\b(?:maintenant|désormais|correction|mise à jour|en fait|finalement|plutôt|désolée?|à la place|dorénavant)\b",
    past=r"\b(?:avant|auparavant|autrefois|à l'époque|ancien(?:ne)?|précédente?|au début|initialement|était|étaient|avait|avais|habitais|vivais|travaillais|s'appelait)\b",
    present=r"\b(?:maintenant|actuel(?:le|lement)?|aujourd'hui|désormais|ai dit|avons dit|décidé)\b",
    article="le",
    pronouns=_words("l' le la les ça cela il elle"),
    first_person=_words("je nous j' utilisateur"),
    owners=_words("mon ma mes notre nos"),
    articles=_words("le la les un une l' des"),
    others=_words("premier première deuxième second seconde autre autres prochain prochaine dernier dernière chaque deux trois vieux vieille"),
    renewed=_words("nouveau nouvelle nouvel actuel actuelle maintenant"),
    one_value=_words("adresse email mail courriel téléphone numéro employeur préférée préféré langue devise pseudo"),
    named=_words(
        "chef patron patronne propriétaire médecin dentiste femme mari compagnon budget échéance loyer salaire âge poids taille limite prix "
        "objectif forfait port version anniversaire voiture banque équipe chambre"
    ),
    dated=_words("échéance anniversaire objectif"),
    exclusive=_words("conduis préfèr travaill étudi"),
    kin=_words("cousin cousine oncle tante neveu nièce ami amie fils fille frère sœur chien chat enfant collègue voisin voisine cheval oiseau bébé"),
    stops=_words(
        "depuis avec pour et mais ou car parce à au aux en sur chez où qui que comme maintenant encore plus depuis de du des jusqu' puis quand "
        "après avant par chaque dans un une le la les désormais"
    ),
    empty=_words(
        "il elle le la lui pas très si vraiment trop ici là moi nous aucun aucune bon bonne mauvais bien mal fatigué content contente heureux "
        "triste malade important beau belle quoi comment pourquoi rien tout presque assez"
    ),
    common=_words("le la les un une mon ma notre maison ville nuit école bureau campagne appartement village"),
    verbs={**dict.fromkeys("est sont coûte commence débute dure tourne".split(), "be"), "a lieu": "be", "ont lieu": "be", "s'élève": "be"},  # noqa: SIM905
    days=_days("lundi|lundis mardi|mardis mercredi|mercredis jeudi|jeudis vendredi|vendredis samedi|samedis dimanche|dimanches"),
    months="janv févr mars avr mai juin juil août sept oct nov déc",
    numbers=_numbers("deux trois quatre cinq six sept huit neuf dix onze douze"),
    states=_states("ouvert ouverte fermé fermée terminé terminée expédié expédiée livré livrée annulé annulée payé payée confirmé actif inactif"),
    rows=(
        StatementRow(
            "déménagé emménagé",
            rf"(?P<who>{_FR_ME}|{_FR_NOUN}) ?(?:ai|avons|a|ont) {_FR_ADVERB}(?:déménagé|emménagé) {_FR_ADVERB}(?:de {_BEFORE} )?(?:à|au|en) {_VALUE}",
            attribute="live", kind="word", changes=True, proper=True,
        ),
        StatementRow(
            "habite j'habite habitons vis vivons",
            rf"(?P<who>{_FR_ME}|{_FR_NOUN}) ?(?:habite|habitons|vis|vivons|vit) {_FR_ADVERB}(?:à|au|en|dans) {_VALUE}",
            attribute="live", kind="word", single=True, proper=True,
        ),
        StatementRow(
            "travaille travaillons",
            rf"(?P<who>{_FR_ME}|{_FR_NOUN}) ?travaill(?:e|ons) {_FR_ADVERB}(?:chez|pour|à) {_VALUE}",
            attribute="work", kind="word", single=True, proper=True,
        ),
        StatementRow(
            "renommé renommée rebaptisé rebaptisée",
            rf"(?:je|nous|on) (?P<who>l'|les )(?:ai|avons|a) {_FR_ADVERB}(?:renommée?s?|rebaptisée?s?) (?:en )?{_VALUE}",
            attribute="name", kind="name", changes=True,
        ),
        StatementRow(
            "renommé renommée rebaptisé rebaptisée",
            rf"(?P<who>{_FR_NOUN}) a été {_FR_ADVERB}(?:renommée?|rebaptisée?) (?:en )?{_VALUE}",
            attribute="name", kind="name", changes=True,
        ),
        StatementRow(
            "s'appelle s'appellent",
            rf"(?P<who>{_FR_NOUN}) s'appelle(?:nt)? {_FR_ADVERB}{_VALUE}",
            attribute="name", kind="name", single=True,
        ),
        StatementRow(
            "plus",
            rf"(?:(?P<who>{_FR_NOUN}) )?(?:n'est|ne sont|n'a|ce n'est) plus (?:lieu )?(?P<value>{_FR_AT}[\w.:]{{2,20}})",
            attribute="be", changes=True, ends=True,
        ),
        StatementRow(
            "plus",
            r"(?P<who>je) ne suis plus (?P<value>[\w-]{3,24})$",
            attribute="be", kind="word", changes=True, ends=True,
        ),
        StatementRow(
            "plus",
            r"(?P<who>je) n(?:e |')(?P<verb>[a-zà-ÿ]{3,14}) plus(?: (?:de |d'|du |en |à )?(?P<value>[\w-]{2,24}))?$",
            kind="word", changes=True, ends=True,
        ),
        StatementRow(
            "déplacé déplacée reporté reportée changé augmenté augmentée réduit réduite passé passée avancé avancée",
            rf"(?P<who>{_FR_NOUN}) (?:a été|est|a) {_FR_ADVERB}(?:déplacée?|reportée?|changée?|augmentée?|réduite?|passée?|avancée?) (?:de {_BEFORE} )?(?:à|au|en) {_VALUE}",
            attribute="be", changes=True,
        ),
        StatementRow(
            "déplacé reporté changé augmenté réduit avancé",
            rf"(?:j'ai|nous avons|on a) (?:déplacé|reporté|changé|augmenté|réduit|avancé) (?P<who>{_FR_NOUN}) (?:de {_BEFORE} )?(?:à|au|en) {_VALUE}",
            attribute="be", changes=True,
        ),
        StatementRow(
            "est sont coûte commence débute lieu s'élève",
            rf"(?P<who>{_FR_NOUN}) (?P<verb>est|sont|coûte|commence|débute|a lieu|ont lieu|s'élève) {_FR_ADVERB}(?P<value>{_FR_AT}[^;()]{{1,60}})",
            weak=True,
        ),
        StatementRow(
            "j'ai",
            r"(?P<who>j')ai (?:maintenant )?(?P<value>\d{1,3}) ans$",
            attribute="age", kind="number", single=True, weak=True,
        ),
        StatementRow(
            "suis",
            r"(?P<who>je) suis (?:maintenant )?(?P<value>célibataire|mariée?|fiancée?|divorcée?|veuve|veuf|séparée?)(?: maintenant)?$",
            attribute="status", kind="word", single=True, weak=True,
        ),
        StatementRow("suis", r"(?P<who>je) suis (?P<value>[\w-]{3,24})$", attribute="be", kind="word", adds=True, weak=True),
        StatementRow(
            "fume mange bois conduis utilise préfère",
            rf"(?P<who>je|j') ?(?P<verb>fume|mange|bois|conduis|utilise|préfère)(?: {_FR_ADVERB}(?:de la |du |des |une? |la |le |l'|de )?{_VALUE})?",
            habit=True,
        ),
        StatementRow(
            "maintenant plutôt finalement correction désormais mets mettez",
            rf"(?:(?:c'est|mets|mettez|plutôt|finalement|maintenant|désormais) ){{0,2}}(?P<value>{_FR_AT}[^;()]{{1,60}})",
            attribute="be", changes=True, weak=True, refers=True,
        ),
    ),
)  # fmt: skip

# --- Spanish

_ES_ADVERB = r"(?:(?:ahora|actualmente|también|siempre|recientemente|ya|desde \w{2,12}) ){0,3}"
_ES_NOUN = rf"(?:mi|mis|nuestro|nuestra|el|la|los|las) {_THING}"
_ES_AT = r"(?:(?:a|al|en|el|los|la|las|de|para|con) )?"

SPANISH = StatementTable(
    lead=(
        r"\W{0,6}(?:(?:hola|ok|vale|bueno|y|pero|sí|no|por cierto|actualización|corrección|perdón|en realidad|al final|para tu información"
        r"|a partir de ahora|ahora|ayer|hoy)(?!\w)[,:;.!-]{0,2} ?){0,4}"
    ),
    joint=r"[,;:] (?:y |pero |sino )?| (?:y|pero) (?=(?:yo|mi|nuestro|nuestra|el|la|me|es|vivo|ahora)\b)| [-–—] |[(]",
    doubt=(
        r"^(?:si|cuando|quizás?|tal vez|antes|después)\b|\b(?:quisiera|podría|podríamos|gustaría|sería|quiero|queremos|pienso|dice|dijo"
        r"|por ejemplo|solía)\b"
    ),
    now=r"\b(?:ahora|actualización|corrección|en realidad|al final|mejor|perdón|en vez|en lugar|a partir de ahora|ya)\b",
    past=r"\b(?:antes|anteriormente|antigu[oa]|anterior|entonces|al principio|originalmente|era|eran|estaba|tenía|vivía|trabajaba|se llamaba|solía)\b",
    present=r"\b(?:ahora|actual(?:mente)?|hoy|dije|dijimos|decidimos)\b",
    article="el",
    pronouns=_words("lo la le eso esto"),
    first_person=_words("yo nosotros usuario"),
    owners=_words("mi mis nuestro nuestra"),
    articles=_words("el la los las un una"),
    others=_words("primer primero primera segundo segunda tercer otro otra otros próximo próxima último última cada dos tres viejo vieja"),
    renewed=_words("nuevo nueva actual ahora"),
    one_value=_words("dirección correo email teléfono número contraseña favorito favorita lengua moneda usuario"),
    named=_words(
        "jefe jefa casero médico dentista esposa marido novio novia presupuesto plazo alquiler sueldo salario edad peso altura límite precio "
        "objetivo puerto versión cumpleaños coche carro banco equipo habitación"
    ),
    dated=_words("plazo cumpleaños objetivo"),
    exclusive=_words("conduzco prefiero trabajo estudio"),
    kin=_words("primo prima tío tía sobrino sobrina nieto nieta amigo amiga hijo hija hermano hermana perro gato niño niña colega vecino vecina caballo pájaro bebé"),
    stops=_words(
        "desde con para y pero o porque en a al donde que como ahora otra más de del hasta luego cuando después antes por cada un una el la los "
        "las todavía ya también"
    ),
    empty=_words(
        "él ella lo no muy tan realmente aquí allí mí nosotros ningún ninguna bueno buena malo mala bien mal listo lista cansado cansada feliz "
        "contento contenta triste enfermo importante bonito qué cómo nada todo casi bastante"
    ),
    common=_words("el la los las un una mi nuestra casa ciudad noche escuela oficina campo piso pueblo"),
    verbs={**dict.fromkeys("es son está están cuesta empieza comienza".split(), "be"), "se celebra": "be"},  # noqa: SIM905
    days=_days("lunes martes miércoles|miercoles jueves viernes sábado|sábados|sabado domingo|domingos"),
    months="ene feb mar abr may jun jul ago sep oct nov dic",
    numbers=_numbers("dos tres cuatro cinco seis siete ocho nueve diez once doce"),
    states=_states("abierto abierta cerrado cerrada terminado enviado enviada entregado entregada cancelado cancelada pagado confirmado activo"),
    rows=(
        StatementRow(
            "mudé mudamos mudado trasladé",
            rf"(?P<who>)(?:me|nos) (?:mudé|mudamos|he mudado|hemos mudado|trasladé) {_ES_ADVERB}(?:de {_BEFORE} )?a {_VALUE}",
            attribute="live", kind="word", changes=True, proper=True,
        ),
        StatementRow(
            "vivo vivimos",
            rf"(?P<who>)(?:yo )?(?:vivo|vivimos) {_ES_ADVERB}en {_VALUE}",
            attribute="live", kind="word", single=True, proper=True,
        ),
        StatementRow(
            "trabajo trabajamos",
            rf"(?P<who>)(?:yo )?(?:trabajo|trabajamos) {_ES_ADVERB}(?:en|para) {_VALUE}",
            attribute="work", kind="word", single=True, proper=True,
        ),
        StatementRow(
            "renombramos cambiamos cambié",
            rf"(?P<who>lo|la|le) (?:renombramos|cambiamos el nombre|cambié el nombre) (?:a |como )?{_VALUE}",
            attribute="name", kind="name", changes=True,
        ),
        StatementRow(
            "llama llaman",
            rf"(?P<who>{_ES_NOUN}) {_ES_ADVERB}se llaman? {_ES_ADVERB}{_VALUE}",
            attribute="name", kind="name", single=True,
        ),
        StatementRow(
            "ya",
            rf"(?:(?P<who>{_ES_NOUN}) )?ya no (?:es|son|está|están) (?P<value>{_ES_AT}[\w.:]{{2,20}})",
            attribute="be", changes=True, ends=True,
        ),
        StatementRow("ya", r"(?P<who>)ya no soy (?P<value>[\w-]{3,24})$", attribute="be", kind="word", changes=True, ends=True),
        StatementRow(
            "ya",
            r"(?P<who>)ya no (?P<verb>fumo|como|bebo|uso|conduzco|trabajo|vivo)(?: (?:en |a )?(?P<value>[\w-]{2,24}))?$",
            kind="word", changes=True, ends=True,
        ),
        StatementRow(
            "movió movido cambió cambiado aplazó aplazado subió subido bajó pasó trasladó",
            rf"(?P<who>{_ES_NOUN}) (?:se )?(?:ha )?(?:movió|movido|cambió|cambiado|aplazó|aplazado|subió|subido|bajó|pasó|trasladó) {_ES_ADVERB}(?:de {_BEFORE} )?(?:a|al|para el|para) {_VALUE}",
            attribute="be", changes=True,
        ),
        StatementRow(
            "movimos cambiamos aplazamos subimos bajamos",
            rf"(?:hemos )?(?:movimos|cambiamos|aplazamos|subimos|bajamos) (?P<who>{_ES_NOUN}) (?:de {_BEFORE} )?(?:a|al) {_VALUE}",
            attribute="be", changes=True,
        ),
        StatementRow(
            "es son está cuesta empieza comienza",
            rf"(?P<who>{_ES_NOUN}) {_ES_ADVERB}(?P<verb>es|son|está|cuesta|empieza|comienza) {_ES_ADVERB}(?P<value>{_ES_AT}[^;()]{{1,60}})",
            weak=True,
        ),
        StatementRow(
            "tengo",
            r"(?P<who>)tengo (?:ahora |ya )?(?P<value>\d{1,3}) años$",
            attribute="age", kind="number", single=True, weak=True,
        ),
        StatementRow(
            "estoy soy",
            r"(?P<who>)(?:estoy|soy) (?:ahora )?(?P<value>solter[oa]|casad[oa]|comprometid[oa]|divorciad[oa]|viud[oa]|separad[oa])(?: ahora)?$",
            attribute="status", kind="word", single=True, weak=True,
        ),
        StatementRow("soy", r"(?P<who>)soy (?P<value>[\w-]{3,24})$", attribute="be", kind="word", adds=True, weak=True),
        StatementRow(
            "fumo como bebo conduzco uso prefiero",
            rf"(?P<who>)(?:yo )?(?P<verb>fumo|como|bebo|conduzco|uso|prefiero)(?: {_ES_ADVERB}(?:un |una |el |la )?{_VALUE})?",
            habit=True,
        ),
        StatementRow(
            "ahora mejor corrección realidad final",
            rf"(?:(?:es|mejor|ahora|que sean|ponlo en) ){{0,2}}(?P<value>{_ES_AT}[^;()]{{1,60}})",
            attribute="be", changes=True, weak=True, refers=True,
        ),
    ),
)  # fmt: skip
