"""Lexicons of German, Dutch, Swedish, Danish, French, Spanish, Italian and Portuguese."""

from wmem.rules.updates.frames.lexicon import Lexicon, ordinals, verbs, words

GERMAN = Lexicon(
    verbs=verbs(
        be="ist bin sind",
        name="heißt heiße",
        live="wohne wohnt wohnen lebe lebt",
        work="arbeite arbeitet",
        do="bevorzuge bevorzugt fahre fährt",
        add="mag liebe liebt habe hat nutze nutzt trinke trinkt rauche raucht",
        take="kostet dauert beginnt endet läuft öffnet schließt startet wiegt",
    ),
    me=words("ich wir nutzer benutzer"),
    mine=words("mein meine meinen meinem meiner unser unsere unseren"),
    dropped=words("der die das den dem von vom für des im"),
    some=words("ein eine einen"),
    at=words("in bei an am um auf als zu mit aus nach zur"),
    now=words("jetzt nun inzwischen mittlerweile stattdessen"),
    leads={
        **dict.fromkeys(("wie gesagt", "übrigens", "hinweis"), False),
        **dict.fromkeys(("korrektur", "nein", "eigentlich", "sorry", "falsch"), True),
    },
    no=words("nicht kein keine keinen nie"),
    more=words("mehr"),
    but=words("sondern"),
    names=words("name"),
    single=words(
        "lieblingsfarbe lieblingstee lieblingsessen lieblingsfilm lieblingsbuch lieblingsband lieblingsstadt passwort e-mail email "
        "telefonnummer handynummer nummer adresse geburtstag frist pin schuhgröße heimatstadt miete gehalt budget preis"
    ),
    roles=words("zahnarzt arzt vermieter chef tierarzt bank friseur ärztin chefin zahnärztin"),
    refused=words(
        "wenn falls ob würde würden könnte möchte hätte wäre will wollen soll vielleicht sagt sagte meint war waren hatte "
        "früher damals bevor und oder auch noch er sie es sein ihr ihre seine dass weil wer was wo wie erste zweite dritte andere "
        "anderer anderes nächste nächster letzte letzter jede jeder freund freundin nachbar kollege ziel problem grund hobby "
        "gestern heute morgen neben immer"
    ),
    capital_nouns=True,
    the=words("der die das dieser diese dieses"),
    plural=words("sind"),
    several=words(
        "bruder schwester sohn tochter kind cousin cousine onkel tante neffe nichte enkel freund freundin kollege kollegin nachbar nachbarin kunde kundin lieferant partner mitglied hobby sprache allergie ziel problem grund risiko schritt haustier katze gerät buch film lied spiel thema kurs zug bus flug beispiel aufgabe instrument sport medikament genre abschluss schauspieler investor rechnung bestellung lauf sitzung zahlung bericht rezept reise paket"
    ),
    many=words(
        "prüfung termin besuch rennen konzert urlaub konferenz roman gedicht gemälde artikel album serie folge vorfahr rivale praktikant bewerber großvater großmutter museum filiale laden geschäft impfung diagnose operation kauf ausgabe spende schlagwort attraktion lehrling schüler babysitter"
    ),
    ordinals=ordinals(
        "ersten|erste|erstem zweiten|zweite dritten|dritte vierten|vierte fünften|fünfte sechsten|sechste siebten|siebte achten|achte neunten|neunte zehnten|zehnte"
    ),
    head_last=True,
)
DUTCH = Lexicon(
    verbs=verbs(
        be="is ben zijn",
        name="heet",
        live="woon woont wonen",
        work="werk werkt",
        do="rijd rijdt",
        add="hou houdt heb heeft vind drink drinkt rook rookt gebruik gebruikt",
        move="verhuisd",
        take="kost duurt begint eindigt draait opent sluit weegt verloopt",
    ),
    me=words("ik wij we gebruiker"),
    mine=words("mijn onze ons"),
    dropped=words("de het van voor ben dit"),
    some=words("een"),
    at=words("in bij om op als naar te aan uit"),
    now=words("nu tegenwoordig inmiddels voortaan"),
    leads={"zoals gezegd": False, "trouwens": False, "correctie": True, "nee": True, "eigenlijk": True},
    no=words("niet geen nooit"),
    more=words("meer"),
    but=words("maar"),
    names=words("naam"),
    single=words(
        "lievelingskleur favoriete wachtwoord e-mail email telefoonnummer nummer adres verjaardag deadline pincode vergadering afspraak "
        "huur salaris prijs woonplaats"
    ),
    roles=words("tandarts dokter huisbaas baas dierenarts bank kapper"),
    refused=words(
        "als of zou zouden wil wilde misschien zegt zei was waren had vroeger voordat en ook nog hij zij ze haar zijn hun dat die "
        "omdat wie wat waar hoe eerste tweede derde andere volgende vorige elke vriend vriendin buurman doel probleem gisteren "
        "vandaag morgen"
    )
    - words("zijn"),
    the=words("de het deze dit"),
    plural=words("zijn"),
    several=words(
        "broer zus zoon dochter kind neef nicht oom tante vriend vriendin collega buurman buurvrouw klant leverancier lid hobby taal allergie doel probleem reden risico stap huisdier boek film lied spel cursus trein bus voorbeeld"
    ),
    ordinals=ordinals("eerste tweede derde vierde vijfde zesde zevende achtste negende tiende"),
    head_last=True,
)
SWEDISH = Lexicon(
    verbs=verbs(
        be="är",
        name="heter hedder",
        live="bor",
        work="jobbar arbetar arbejder",
        add="gillar har älskar elsker",
        do="använder dricker bruger drikker ryger",
        move="flyttat flyttade flyttet flyttede",
        take="kostar koster varar varer börjar begynder startar slutar slutter öppnar åbner stänger lukker väger vejer",
    ),
    me=words("jag jeg vi användaren"),
    mine=words("min mitt mina vår vårt mit mine vores"),
    dropped=words("den det de til till på er"),
    some=words("en ett et"),
    at=words("i hos kl som för"),
    now=words("nu numera numer"),
    no=words("inte ingen aldrig ikke"),
    more=words("längre mer mere længere"),
    but=words("utan men"),
    names=words("namn navn"),
    single=words(
        "favoritfärg favoritte favoritmat favorit lösenord lösenordet adress telefonnummer födelsedag mejl e-post yndlingsfarve "
        "yndlingste adgangskode adresse fødselsdag"
    ),
    roles=words("tandläkare läkare chef bank frisör tandlæge læge"),
    refused=words(
        "om skulle kunde vill kanske sa säger sagde siger var hade havde tidigare før innan och eller eller och också også han hon hun "
        "hans hennes hendes deres som vem vad var hur första andra nästa förra varje første anden næste vän ven granne nabo mål"
    ),
    the=words("den det de"),
    several=words(
        "bror broder syster søster son søn dotter datter barn kusin fætter kusine farbror onkel faster tante vän ven kollega granne nabo kund kunde leverantör medlem hobby språk sprog allergi mål problem skäl risk steg husdjur kæledyr bok bog film"
    ),
    ordinals=ordinals(
        "första|første andra|anden tredje fjärde|fjerde femte sjätte|sjette sjunde|syvende åttonde|ottende nionde|niende tionde|tiende"
    ),
    head_last=True,
    suffixed=True,
)
DANISH = Lexicon(
    verbs={**SWEDISH.verbs, "er": "be"},
    me=SWEDISH.me,
    mine=SWEDISH.mine,
    dropped=SWEDISH.dropped - {"er"},
    some=SWEDISH.some,
    at=SWEDISH.at,
    now=SWEDISH.now,
    no=SWEDISH.no,
    more=SWEDISH.more,
    but=SWEDISH.but,
    names=SWEDISH.names,
    single=SWEDISH.single,
    roles=SWEDISH.roles,
    refused=SWEDISH.refused,
    the=SWEDISH.the,
    several=SWEDISH.several,
    ordinals=SWEDISH.ordinals,
    head_last=True,
    suffixed=True,
)
FRENCH = Lexicon(
    verbs=verbs(
        be="est suis sont",
        name="appelle",
        live="habite habitons vis vit",
        work="travaille travaillons",
        do="préfère conduis conduit",
        add="aime adore ai a avons utilise bois boit fume",
        move="déménagé emménagé",
        take="coûte dure commence expire ouvre ferme tourne pèse finit",
    ),
    me=words("je j' nous utilisateur utilisatrice l'utilisateur"),
    mine=words("mon ma mes notre nos"),
    dropped=words("le la les l' de du d' des s' m' n' ne pour ai"),
    some=words("un une"),
    at=words("à au aux en dans chez sur avec comme"),
    now=words("maintenant désormais dorénavant"),
    leads={"comme je l'ai dit": False, "en fait": True, "correction": True, "non": True, "pardon": True},
    no=words("pas jamais plus"),
    more=words("plus"),
    but=words("mais"),
    names=words("nom prénom"),
    single=words(
        "préféré préférée passe email e-mail mail adresse téléphone numéro anniversaire limite code loyer salaire prix réunion "
        "rendez-vous pointure"
    ),
    roles=words("dentiste médecin propriétaire patron patronne vétérinaire banque coiffeur"),
    refused=words(
        "si serait pourrait voudrais aimerais voudrait peut-être dit disait pense était étais habitais avait avais avant quand "
        "et ou aussi encore il elle ils elles son sa ses leur que qui quoi où comment parce premier première deuxième autre prochain "
        "prochaine dernier dernière chaque ami amie voisin voisine but problème hier aujourd'hui demain toujours"
    ),
    the=words("le la les l' ce cette"),
    plural=words("sont sommes"),
    several=words(
        "frère soeur sœur fils fille enfant cousin cousine oncle tante neveu nièce ami amie copain collègue voisin voisine client cliente fournisseur concurrent membre hobby loisir passion langue allergie objectif but problème raison risque étape animal livre film chanson jeu sujet cours train bus exemple tâche nationalité instrument sport médicament genre diplôme acteur investisseur facture commande appel paiement rapport recette voyage colis"
    ),
    many=words(
        "examen visite concert vacances conférence roman poème tableau article album série épisode ancêtre rival stagiaire candidat grand-père grand-mère musée magasin boutique vaccin diagnostic opération achat dépense don attraction élève mot-clé"
    ),
    ordinals=ordinals(
        "premier|première deuxième|second|seconde troisième quatrième cinquième sixième septième huitième neuvième dixième"
    ),
)
SPANISH = Lexicon(
    verbs=verbs(
        be="es soy son",
        name="llama llamo",
        live="vivo vive vivimos",
        work="trabajo trabaja",
        do="prefiero prefiere conduzco",
        add="gusta gustan encanta tengo tiene uso usa bebo fumo fuma",
        move="mudé mudó mudado",
        take="cuesta dura empieza comienza termina caduca vence abre cierra ejecuta pesa",
    ),
    me=words("yo nosotros usuario usuaria me"),
    mine=words("mi mis nuestro nuestra"),
    dropped=words("el la los las de del se le para"),
    some=words("un una"),
    at=words("en a al con como por desde"),
    now=words("ahora actualmente"),
    leads={"como dije": False, "en realidad": True, "corrección": True, "no": True, "perdón": True},
    no=words("no nunca"),
    more=words("ya"),
    but=words("sino"),
    names=words("nombre"),
    single=words(
        "favorito favorita contraseña correo email dirección teléfono número cumpleaños límite código alquiler salario precio "
        "reunión cita talla"
    ),
    roles=words("dentista médico médica jefe jefa veterinario banco peluquero casero"),
    refused=words(
        "si sería podría gustaría quizás quizá dice dijo piensa era vivía tenía antes cuando y o e también todavía él ella ellos su sus "
        "que quien qué dónde cómo porque primer primero primera segundo segunda otro otra próximo próxima último última cada amigo amiga "
        "vecino vecina objetivo problema ayer hoy mañana siempre"
    ),
    the=words("el la los las este esta"),
    plural=words("son somos"),
    several=words(
        "hermano hermana hijo hija niño primo prima tío tía sobrino sobrina nieto amigo amiga colega compañero compañera vecino vecina cliente clienta proveedor competidor miembro afición pasatiempo idioma lengua alergia objetivo meta problema razón riesgo paso mascota libro película canción juego tema curso tren ejemplo tarea nacionalidad instrumento deporte medicamento género título actor inversor factura pedido llamada pago informe receta viaje paquete"
    ),
    many=words(
        "examen visita concierto vacaciones conferencia novela poema cuadro artículo álbum serie episodio antepasado rival becario candidato abuelo abuela museo tienda vacuna diagnóstico operación compra gasto donación atracción alumno alumna"
    ),
    ordinals=ordinals(
        "primer|primero|primera segundo|segunda tercer|tercero|tercera cuarto|cuarta quinto|quinta sexto|sexta séptimo|séptima octavo|octava noveno|novena décimo|décima"
    ),
)
ITALIAN = Lexicon(
    verbs=verbs(
        be="è sono",
        name="chiama chiamo",
        live="abito abita vivo vive",
        work="lavoro lavora",
        do="preferisco preferisce guido",
        add="piace piacciono amo ho ha uso usa bevo fumo",
        move="trasferito trasferita",
        take="costa dura inizia comincia finisce scade apre chiude pesa",
    ),
    me=words("io noi utente mi"),
    mine=words("mio mia miei mie nostro nostra"),
    dropped=words("il lo la i gli le l' di del della dello dei si sono l'utente"),
    some=words("un una uno un'"),
    at=words("a ad in da per alle alla al ai come con su"),
    now=words("ora adesso attualmente ormai"),
    leads={"come ho detto": False, "in realtà": True, "correzione": True, "no": True, "scusa": True},
    no=words("non mai"),
    more=words("più"),
    but=words("ma bensì"),
    names=words("nome"),
    single=words(
        "preferito preferita password email e-mail mail indirizzo telefono numero compleanno scadenza codice affitto stipendio prezzo "
        "riunione appuntamento"
    ),
    roles=words("dentista medico capo veterinario banca parrucchiere proprietario"),
    refused=words(
        "se sarebbe potrebbe vorrei vorrebbe piacerebbe forse dice disse pensa era ero abitavo aveva prima quando e ed o anche ancora "
        "lui lei loro suo sua suoi che chi cosa dove come perché primo seconda secondo altro altra prossimo prossima ultimo ultima ogni "
        "amico amica vicino vicina obiettivo problema ieri oggi domani sempre"
    )
    - words("come"),
    the=words("il lo la i gli le l' questo questa"),
    several=words(
        "fratello sorella figlio figlia bambino cugino cugina zio zia nipote amico amica collega compagno vicino vicina cliente fornitore concorrente membro hobby passione lingua allergia obiettivo problema motivo rischio passo animale libro film canzone gioco corso treno esempio compito nazionalità strumento sport medicina genere laurea attore investitore fattura ordine pagamento rapporto ricetta viaggio pacco"
    ),
    many=words(
        "esame visita concerto vacanza conferenza romanzo poesia quadro articolo album serie episodio antenato rivale tirocinante candidato nonno nonna museo negozio vaccino diagnosi operazione acquisto spesa alunno"
    ),
    ordinals=ordinals(
        "primo|prima secondo|seconda terzo|terza quarto|quarta quinto|quinta sesto|sesta settimo|settima ottavo|ottava nono|nona decimo|decima"
    ),
)
PORTUGUESE = Lexicon(
    verbs=verbs(
        be="é sou são",
        name="chama-se chama chamo",
        live="moro mora vivo vive",
        work="trabalho trabalha",
        do="prefiro prefere dirijo",
        add="gosto gosta adoro adora tenho tem uso usa bebo fumo fuma",
        move="mudei-me mudei mudou-se mudou",
        take="custa dura começa termina vence abre fecha pesa",
    ),
    me=words("eu nós usuário usuária utilizador me"),
    mine=words("meu minha meus minhas nosso nossa"),
    dropped=words("o a os as de do da dos das se"),
    some=words("um uma"),
    at=words("em no na nos nas para às à ao como com por"),
    now=words("agora atualmente"),
    leads={"como eu disse": False, "na verdade": True, "correção": True, "não": True, "desculpe": True},
    no=words("não nunca"),
    more=words("mais já"),
    but=words("mas sim"),
    names=words("nome"),
    single=words(
        "favorito favorita senha palavra-passe email e-mail endereço telefone número aniversário prazo código aluguel renda salário preço "
        "reunião"
    ),
    roles=words("dentista médico médica chefe veterinário banco cabeleireiro"),
    refused=words(
        "se seria poderia gostaria queria talvez diz disse pensa era morava tinha antes quando e ou também ainda ele ela eles seu sua "
        "seus que quem onde porque primeiro primeira segundo segunda outro outra próximo próxima último última cada amigo amiga vizinho "
        "vizinha objetivo problema ontem hoje amanhã sempre"
    )
    - words("se"),
    the=words("o a os as este esta"),
    plural=words("são somos"),
    several=words(
        "irmão irmã filho filha criança primo prima tio tia sobrinho neto amigo amiga colega companheiro vizinho vizinha cliente fornecedor concorrente membro hobby passatempo língua idioma alergia objetivo meta problema razão motivo risco passo animal livro filme música jogo tema curso trem exemplo tarefa nacionalidade"
    ),
    ordinals=ordinals(
        "primeiro|primeira segundo|segunda terceiro|terceira quarto|quarta quinto|quinta sexto|sexta sétimo|sétima oitavo|oitava nono|nona décimo|décima"
    ),
)
WESTERN = (GERMAN, DUTCH, SWEDISH, DANISH, FRENCH, SPANISH, ITALIAN, PORTUGUESE)
