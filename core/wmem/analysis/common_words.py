"""Words that are common in a language: a text and a question share them by chance, though few texts here have them.

In a small scope "want" or "open" is as rare as a name. What is rare in the scope and rare in the language says
what a text is about; what is merely rare in the scope does not.
"""

from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from unicodedata import combining, normalize

from wmem.analysis.analyzer import to_terms

# Words that fit a text about anything. No stop words, and nothing that is itself a subject: places, people, things.
# A word belongs here only if it begins as its terms do.
_COMMON_WORDS: Mapping[str, str] = {
    "english": (
        "able absolutely accept accordingly accurate achieve acquire across action actual actually adapt add adjust "
        "adopt advantage advice affect afterwards ago agree agreement ahead aim allow almost alone along already "
        "alright alter alternative although always amazing amongst amount analysis another answer anybody anyhow "
        "anymore anyone anything anytime anyway anywhere apart apparent apparently appear appearance apply "
        "appreciate approach appropriate approximately area argue argument arise around arrange arrive aside ask "
        "aspect assemble assert assess assign assist associate assume assumption assure attach attempt attitude "
        "attract available average avoid await aware away background bad bare barely base basic basically basis "
        "become beforehand begin behavior behind believe belong benefit besides best better beware beyond big bite "
        "bold both bother brief briefly brilliant bring broad build bunch call calm capable capture care careful "
        "case category cause cease central certain certainly challenge chance change character characteristic "
        "charge check chief chiefly choice choose circumstance claim clarify classic clear clearly close collapse "
        "collect combination combine come comfortable comment commit common commonly communicate compare compel "
        "complain complete completely complex comply comprise conceive concentrate concept concern conclude "
        "conclusion condition conduct confess confident confirm conflict confront confuse connect consequence "
        "consider considerable consist consistent constant constantly construct consult contain content continue "
        "contrast contribute control convenient convert convince cope copy core correct corresponding count couple "
        "course cover crazy create creation critical crucial curious current currently dare date day deal debate "
        "decide decision dedicated deep deeply default defend define definitely definition degree delay delight "
        "deliver demand demonstrate deny depart depend derive describe description deserve desire despite detail "
        "detect determine develop devise devote differ difference different difficult difficulty direct direction "
        "directly discard discover discuss discussion distinct distinction distribute diverse divide dominant "
        "dominate doubt due duly dump eager earlier ease easily easy effect effective effectively efficient "
        "efficiently effort either elaborate elect element else elsewhere embrace emerge emphasis emphasise employ "
        "enable encounter encourage end endure engage enhance enjoy enlarge enormous enough enquire ensure enter "
        "entire entirely equal equivalent escape especially essential establish etc evaluate even event eventual "
        "eventually ever every everybody everyone everything everywhere evidence evident evidently evolve exact "
        "exactly example exceed excellent except excessive excite exclaim exclude exclusive exclusively exhibit "
        "exist existence expand expect expectation experience explain explanation explore expose express extend "
        "extensive extent external extra extremely face facilitate fact factor fail failure fair fairly familiar "
        "fancy far fashion favor favorite feasible feel figure final finally find fine finish firmly first fit fix "
        "flexible float flow focus follow forbid force foresee forever forget forgive formal former formulate "
        "fortunately forward foundation free frequent frequently fulfil full fully fun function fundamental funny "
        "furthermore future gain gather gaze general generally generate genuine get give glad glance global go goal "
        "goes gonna good gotta grab gradually grant grateful great greatly greet grip ground group grow growth "
        "guarantee guess guide half halt handle handy happen happily happy hard hardly harm hear heavily hello help "
        "hence hesitate hey hi hide high highlight highly hint hold home honest honestly hope hopefully hopeless "
        "horrible hour however huge human hurry idea ideal identify illustrate imagine imitate immediate "
        "immediately impact implement imply important impose impossible impression improve improvement incident "
        "incline include incorporate increase increasingly incredible indeed indicate individual inevitable "
        "influence inform information inherent initial initially initiate inquire inside insist inspect inspire "
        "instance instead intend intense intention interest interfere interpret interrupt introduce invent invite "
        "involve isolate issue item judgment justify keen keep kind knock know knowledge large largely last lastly "
        "late lately later latter lay lead lean leap learn least leave less let level life lift light lightly like "
        "likely likewise limit line linger list listen literal literally little live logic long longer look loosely "
        "lot lovely main mainly maintain major majority make manage manner many matter mature maximum maybe mean "
        "meaningful meanwhile mechanism mention mere merely mess middle might mild mind mine minimum minor minute "
        "miss mistake mode modern modest modify moment month moreover mostly move movement much multiple must "
        "muster mutual myself name namely narrow natural nature near nearly neat neatly necessary necessity need "
        "neglect neither never nevertheless new next nice nobody nod none normal normally note nothing notice "
        "nowadays number numerous obey object objective oblige observation obtain obvious obviously occasion "
        "occasional occasionally occupy occur odd offer official often oh okay old omit one ongoing onto oops open "
        "operation opinion opportunity oppose opposite optimal option ordinary organize origin original originate "
        "others otherwise ought outcome outline outside overall overcome overlook overview owe pace pair pardon "
        "part partial partially participate particular particularly partly pass past pattern pause people per "
        "perceive perfect perfectly perform perhaps period permanent permit persist person personal persuade phase "
        "phrase pick piece pity place plain plausible please plenty plus point ponder popular portray position "
        "positive possess possibility possible possibly postpone potential pour practical practice praise preach "
        "precise precisely predict prefer preference preparation prepare presence present presumably presume "
        "pretend pretty prevent previous previously primary prime principle prior priority probably problem "
        "procedure proceed proclaim produce profound progress prohibit promise promote pronounce proper properly "
        "proportion proportional proposal propose prospect proud prove provide provoke public punish purely purpose "
        "pursue put quality quantity question quick quickly quit raise range rapid rapidly rare rarely rate rather "
        "raw reach read readily ready real reality realize really reason reasonable reasonably rebuild recall "
        "receive recent recently reckon recognition recognize recommend recommendation recover reduce refer "
        "reference refine reflect refuse regain regard regardless regret regular reinforce reject rejoin relate "
        "relation relationship relative relatively relevant reliable reluctant rely remain remark remedy remember "
        "remind remove repeat repeatedly replace reply represent require requirement resemble resign resist resort "
        "respect respective respectively respond response responsibility responsible rest restore restrict result "
        "retain retreat return reunite reveal reverse revise ridiculous right roughly run rush satisfy save say "
        "scarce scatter scheme scream second secondary see seek seem seize seldom select selection send senior "
        "sense sentence separate separately series serious seriously serve service set settle setup several shake "
        "shall shape short shortly shout shove show shut side sigh significance significant silent similar simple "
        "simply since sincere single sit situation skip slide slightly slip slow small smart snap solely solution "
        "solve somebody someday somehow someone something sometime somewhat somewhere soon sorry sort spare speak "
        "special specific specifically specify spend spoil spread squeeze stable stand standard stare start state "
        "statement stay steady steal step stick still stir stop straight strange strategy strength stretch strict "
        "strictly strike strive strong strongly structure struggle stuff stupid style subject submit subsequent "
        "subsequently substantial succeed success successful successfully suddenly suffer sufficient suggest "
        "suggestion suitable sum summary superb suppose supposedly sure surely surprise surround suspect swear "
        "swing switch system tackle take talk tear technique tell temporary tempt tend tendency term terrible "
        "terrific thank thankful theory therefore thing think thorough thoroughly thoughts thrive throughout throw "
        "thus tidy tight till time tiny today together tomorrow tonight top topic toss total totally tough toward "
        "trace tremendous trend tried trim trivial trouble true truly try tuck turn twice twist type typical "
        "typically ultimate ultimately undergo understand undertake undo unfortunately unique unless unlike "
        "unlikely unusual upcoming upon upset urge urgent usage use useful useless user usual usually utilise "
        "utilize utterly vague vain valid valuable value vanish variety various vary vast venture verify versus via "
        "visible vision vital vivid vow wait wander wanna want way weak weakness wealth week weird welcome well "
        "whatever whenever whereas whereby wherever whether whichever whisper whoever whole wholly whose widely "
        "widespread willing wipe wish within without wonder wonderful word work world worry worse worst worth wow "
        "wrap write wrong yeah year yell yep yes yesterday yet yield yourself"
    ),
    "german": (
        "alle allein alles allgemein alt andere anders anfang anfangen art aufgabe bald beginnen beide beispiel "
        "bekommen benutzen bereits besonders besser beste bestimmt bisschen bitte bleiben brauche brauchen braucht "
        "bringen dabei dafür dagegen daher damals damit danach danke dann daran darauf darum davon dazu denke "
        "denken ding dinge direkt dort eben eigentlich einfach einige einmal endlich entscheiden erst erste etwas "
        "fast fertig finde finden findet frage fragen früher führen ganz ganze geben gehe gehen geht gehören genau "
        "gerade gern gerne gestern gibt gleich groß große grund gut gute guten halten heißen heißt helfen heute "
        "hier hören idee immer irgendwie jede jeder jedes jemand jetzt kennen klar klein kleine komme kommen kommt "
        "kurz können könnte könnten lang lange lassen laufen leben legen leicht leider lesen letzte leute liegen "
        "mache machen macht mal mehr meinen meist melden menge mensch menschen mindestens monat morgen muss möchte "
        "möchten mögen möglich müssen name natürlich nehmen nennen neu neue neuen nichts nie niemand nutzen nächste "
        "nötig oft ort paar plötzlich problem richtig sache sachen sagen sagt schaffen schlecht schnell schon "
        "schreiben schwer schön sehen sehr seit seite selbst setzen sicher sofort sogar soll sollen sollte sollten "
        "sonst sprechen spät stark statt stehen steht stelle stellen stunde suchen tag tage teil tun ungefähr unten "
        "unter verschieden verstehen versuchen viel viele vielleicht voll vorher warum weg weil weise weit weiter "
        "weiß wenig weniger werde wichtig wieder will wirklich wissen woche wollen wollte wollten wort wünschen "
        "würde würden zeigen zeit ziemlich zusammen zwischen überhaupt"
    ),
    "french": (
        "aider aime aimer ainsi ajouter aller allons ami an année appeler après arriver assez attendre aucun "
        "aujourd aussi autre autres avant avoir beaucoup besoin bien bientôt bon bonjour bonne cas cause certain "
        "chaque chercher choisir chose choses clair commencer comment compléter comprendre compte connaître contre "
        "correct cours croire créer côté dedans demain demander depuis dernier dernière devoir différent dire "
        "direct dis dit dois doit donc donner droit durant déjà encore endroit enfin ensuite entre environ envoyer "
        "essayer exemple facile faire fais fait falloir faut faux façon fin fois forme garder gens grand grande "
        "gros général heure hier hui idée important jamais jour jours juste laquelle lequel lieu lire loin long "
        "longtemps lorsque maintenant manière matin meilleur mettre mieux moins mois moment monde montrer mot moyen "
        "même nom nombre nouveau nouvelle nécessaire obtenir ouvrir parce pareil parfois parler part partir passer "
        "pendant pense penser perdre personne petit petite peu peut peux plus plusieurs plutôt point porter "
        "possible pourquoi pourrait pouvez pouvoir premier première prendre presque problème prochain près puis "
        "quand quel quelle quelque quelques question quoi raison recevoir rendre rester revenir rien répondre "
        "résultat sais sait savoir selon semaine sembler sentir seul seulement simple situation soir sorte souvent "
        "suivant sujet surtout système tard tel tellement temps tenir toujours tous tout toute toutes travailler "
        "trop trouver très type utiliser va vais valeur venir vers veut veux vient vite vivre voici voilà voir vois "
        "voudrais vouloir vrai vraiment écrire étape état être"
    ),
    "spanish": (
        "abrir acabar acerca además ahora algo alguien alguna alguno algún allí antes aquel aquí así aunque ayer "
        "ayudar año años aún bajo bastante bien buen buena bueno buscar cada cambiar casi caso causa cerca cierto "
        "claro comenzar completo comprender común conocer considerar contra cosa cosas crear creer cual cuenta cuál "
        "cuándo cuánto cómo dar debajo debe deber debo decidir decir dejar demasiado dentro derecho desear después "
        "dice diferente difícil directo durante día días dónde ejemplo elegir empezar encontrar entender entonces "
        "entrar entre escribir escuchar esperar estado estar estoy están explicar falta favor fin final forma fuera "
        "fácil general gente gracias gran grande gusta gustar haber hace hacer hacia hago hasta hecho hola hora hoy "
        "idea igual importante incluso ir jamás junto lado largo leer lejos llamar llegar llevar luego lugar mal "
        "malo manera mano mayor mañana mejor menos mes meses mientras misma mismo modo momento mostrar mucha mucho "
        "muchos mundo nada nadie necesario necesitar necesito ninguno nombre nueva nuevo nunca número ocurrir otra "
        "otro otros parar parecer parte pasar pedir pensar pequeño perder persona personas poco poder poner posible "
        "pregunta preguntar primera primero pronto propio próximo puede puedo punto querer quiere quiero quizás "
        "quién razón real realizar realmente recibir recordar respecto responder resultado sabe saber salir seguir "
        "segundo seguro según semana sentir siempre siguiente simple sistema situación sola solo suceder sé sólo "
        "también tampoco tan tanto tarde tema tener tengo tiempo tiene tienes tipo toda todavía todo todos tomar "
        "trabajar tratar usar uso va vale valor vamos varios veces venir ver verdad vez vida vivir volver voy "
        "último"
    ),
    "portuguese": (
        "abrir acabar achar acho acontecer agora ainda ajudar algo algum alguma alguém ali ano anos antes aqui "
        "assim atrás bastante bem boa bom buscar cada caso causa cedo certo chamar chegar claro coisa coisas "
        "colocar começar comum conhecer conseguir considerar contra criar dar debaixo decidir deixar demais dentro "
        "depois desde deve dever devo dia dias diferente difícil diz dizer durante entender entrar entre então "
        "enviar escolher escrever esperar estado estar estou está estão exemplo existir explicar falar falta favor "
        "faz fazer faço ficar fim final fora forma fácil gente geral gosta gostar gosto grande haver hoje hora "
        "ideia igual importante ir jamais jeito junto lado lembrar ler levar logo longe lugar maior mal maneira "
        "manhã mau melhor menos meses mesma mesmo modo momento mostrar muita muitos mundo mês nada necessário "
        "nenhum ninguém nome nova novo nunca número obrigado olá onde ontem outra outro parar parecer parte passar "
        "pedir pensar pequeno perder pergunta perguntar perto pessoa pessoas pode poder pois ponto porque posso "
        "possível pouco precisar preciso primeira primeiro problema próprio próximo quais qual qualquer quando "
        "quanto quase quer querer quero razão real receber responder resultado sabe saber sair seguinte segundo sei "
        "semana sempre sentir simples sistema sobre sozinho sério talvez tanto tarde tempo tenho tentar ter tinha "
        "tipo tirar toda todo todos tomar trabalhar tratar tudo tão usar uso vai valor vamos ver verdade vez vezes "
        "vida vir viver voltar vou vários último"
    ),
    "italian": (
        "abbastanza accadere adesso aiutare alcuni alcuno allora altra altri altro ancora andare andiamo anni anno "
        "aprire arrivare aspettare attraverso avanti avere bello bene bisogno buona buono capire caso causa cercare "
        "certo chiamare chiaro chiedere ciao circa ciò comune conoscere contro cosa cose così creare credere dare "
        "davvero decidere dentro deve devo dice dietro difficile dire diverso domanda domandare domani dopo dovere "
        "durante ecco entrare esempio essere fa faccio facile fare fatto fine finire fino forma forse fuori "
        "generale gente giorni giorno giusto già grande grazie idea ieri importante infine iniziare insieme invece "
        "lasciare lato leggere lontano lungo luogo mai male maniera mattina meglio meno mentre mese mesi mettere "
        "mezzo migliore modo molta molti molto momento mondo mostrare necessario nessuno niente nome nulla numero "
        "nuova nuovo oggi ogni oltre ora parlare parte passare pensare penso perciò perdere persona persone piace "
        "piacere piccolo poco poi portare possibile posso potere prendere presto prima primo problema pronto "
        "proprio prossimo punto può qualche qualcosa qualcuno quale quanto quasi qui quindi ragione ricevere "
        "ricordare rimanere rispondere risultato sa sapere scegliere scrivere secondo sembrare semplice sempre "
        "sentire senza settimana sicuro simile sistema situazione so solo soltanto sopra sotto spesso stare stato "
        "stessa stesso strada subito succedere tanto tardi tempo tenere tipo tornare troppo trovare tutta tutti "
        "tutto ultimo usare uso va vado valore vari vedere vedo venire vero verso vicino vita vivere voglio volere "
        "volta volte vuole"
    ),
    "dutch": (
        "aantal achter alle alleen allemaal alles altijd ander andere anders beetje begin beginnen begrijpen beide "
        "bekend belangrijk beste betekenen beter binnen blijven boven brengen daar daarna daarom dag dagen deel "
        "denk denken dezelfde ding dingen direct doe doen doet dus echt eens eerder eerst eerste eigen eigenlijk "
        "einde elk elke erg ergens ga gaan gaat geef geen gelijk "
        "geven gisteren goed goede graag groot grote haal halen heel helemaal helpen hetzelfde hier hoeveel "
        "houden idee ieder iedereen iemand iets jaar jaren juist keer kennen kiezen klaar klein kleine kom komen "
        "komt kort krijgen kunnen kunt laat laatste lang langs laten leggen leren leven lezen liever liggen lijken "
        "links los maak maakt maand mag maken man meer meest meestal mens mensen minder misschien moeilijk moet "
        "moeten mogelijk mogen moment morgen naam nadat natuurlijk nee nemen nergens niemand niets nieuw nieuwe "
        "nodig noemen nooit nou nu ofwel ongeveer ooit orde oud ouder paar persoon plaats plek precies "
        "proberen probleem punt reden rest rond samen schrijven sinds slecht snel soms soort spreken staan staat "
        "steeds stellen sturen terug terwijl tijd tijdens toch toen totaal tussen tweede uur vaak vandaag vast ver "
        "verder verschillend vertellen vind vinden vol volgende volgens voorbeeld vorig vraag vragen vrij waarom "
        "wachten week weer weet weg weinig wereld werk werken weten wezen wil willen wilt woord worden wordt zaak "
        "zal zeer zeg zeggen zegt zeker zelf zelfde zetten zie zien zitten zoals zoeken zonder zou zouden zullen"
    ),
    "swedish": (
        "alla allt alltid andra annan annat anser antal använda bakom bara behöva behöver bero berätta blev bli "
        "blir bort bra bred bästa bättre både bör börja dag dagar del detta dock dra därför egen eller enda enkel "
        "enligt fall fast fel finna finns fler flera form fortfarande fram framför främst fråga fungera få får fått "
        "följa följande före först första förstå försöka ge genom ger gick gilla gillar gjorde glömma god gå gång "
        "gånger går gör göra haft hela helt hitta hjälpa hos hända hålla höra idag igen igår ihop inga ingen "
        "ingenting innan inom ja jo just klar komma kommer kort kunde kunna känna lika lite liten litet lägga länge "
        "läsa lätt lång låta mellan mena menar mer mest mycket människa måla månad många måste möjlig nej nog ny "
        "nya nytt nästa nästan någon något några nödvändig ofta olika ord ordning orsak par plats prata precis "
        "problem redan rent resten rätt sade sak saker samma samt se sedan senare senast sent ser sida själv ska "
        "skall skicka skriva skulle slut små snabb snart sort stor stora stå står säga säger säker sätt sätta sådan "
        "söka ta tack tala tar tid tidigare tills timme tro tror trots tycka tycker typ under undra ungefär uppgift "
        "utan ute vanlig varför varje vecka verkligen vet veta viktig vilja vilken vilket vill ville visa viss väl "
        "vänta värld även åka år åt över övrig"
    ),
    "russian": (
        "большой будет будто вдруг ведь весь вид видеть видит вместе вместо возможно возможный вообще вопрос "
        "впрочем время всегда всего всё второй выбрать главный говорит говорить год года годы давай давать даже "
        "далеко данный дать два действительно делает делать дело день деньги дней довольно должен должна должны "
        "друг другой думать думаю единственный ещё ждать жизнь завтра зачем здесь знает знать значит знаю идти "
        "имеет иметь имя иногда использовать каждый казаться какая какие какой конец конечно которая которые "
        "который кроме куда лучше лучший любой людей люди маленький мало между меня место месяц мир многие много "
        "мог могу может можно начать начинать наш необходимо несколько никогда никто ничего новая новый нравится "
        "нужен нужна нужно общий один одна около опять особенно остаться ответ ответить отец очень первый перед "
        "писать плохо плохой пока помнить помочь понимать понимаю понять пора после последний потом потому почему "
        "почти поэтому правда правильно привет пример причина про проблема просто простой работа работать раз "
        "разный рано рука самый сделать сегодня сейчас скажи сказал сказать сколько скоро следующий слишком слово "
        "случай смотреть снова совсем спасибо спросить сразу среди ставить стать сторона такая также такие такой "
        "теперь типа тогда точно третий три туда узнать хороший хорошо хотел хотеть хоть хочет хочу час часто часть "
        "человек через число читать чуть эта эти этого"
    ),
}
# Pairs of characters in Chinese and Japanese, whose terms are pairs: endings, pronouns, words of asking.
_PAIRS = (
    "我想 想要 什么 什麼 怎么 怎麼 么样 麼樣 为什 為什 可以 我们 我們 你们 你們 他们 他們 她们 "
    "它们 这个 這個 那个 那個 这些 這些 那些 这样 這樣 那样 那樣 这里 這裡 那里 那裡 一个 一個 "
    "一下 一些 一起 没有 沒有 不是 就是 还是 還是 也是 都是 而是 只是 是不 知道 觉得 覺得 认为 "
    "認為 现在 現在 今天 明天 昨天 时候 時候 时间 時間 因为 因為 所以 但是 如果 已经 已經 有什 "
    "哪里 哪裡 哪个 哪個 哪些 谁的 誰的 的是 是什 我的 你的 他的 她的 我是 你是 是谁 是誰 有没 "
    "有沒 能不 不能 可能 应该 應該 告诉 告訴 诉我 訴我 请问 請問 帮我 幫我 给我 給我 我要 我有 "
    "你有 有的 多少 几个 幾個 非常 很多 比较 比較 然后 然後 之后 之後 之前 以后 以後 以前 开始 "
    "開始 最近 一直 一样 一樣 自己 大家 东西 東西 事情 问题 問題 关于 關於 对于 對於 或者 以及 "
    "还有 還有 其他 其实 其實 起来 起來 出来 出來 下来 过来 过去 過去 不会 不會 不要 不想 不知 "
    "会不 要不 好的 是的 的时 的時 了吗 了嗎 是吗 是嗎 你好 谢谢 謝謝 です ます でし した ませ "
    "せん して てい いる いま るの ある あり ない なか った って こと もの とき どこ どれ どの "
    "どう いつ なに なぜ だれ 何を 何が 何で 何の 誰が 誰の 誰で すか ので のは のが のを のに "
    "には では とは から まで より たい さい くだ ださ この その あの ここ そこ それ これ あれ "
    "よう うな うに いう ため れる られ せる けど けれ でも また とて もう まだ 私は 私の 私が "
    "今日 明日 昨日"
)
_COMMON_PAIRS = frozenset(_PAIRS.split())
_PREFIX = 2  # letters that a word and its term share, accents aside


def is_common(term: str, language: str) -> bool:
    """Whether a term of a text is one of a word that is common in its language; False for a language without a list.

    Pairs of Chinese and Japanese characters are common in every language: these are detected by no stop words.
    """
    if term in _COMMON_PAIRS:
        return True
    words = _words_by_prefix(language) if language in _COMMON_WORDS else {}
    prefix = _prefix(term)
    return prefix in words and term in _terms(prefix, language)


def list_common_words(language: str) -> list[str]:
    """The words that are common in a language, folded; none for a language without a list."""
    return _COMMON_WORDS.get(language, "").split()


def _prefix(word: str) -> str:
    return "".join(each for each in normalize("NFD", word[:_PREFIX]) if not combining(each))


@cache
def _words_by_prefix(language: str) -> Mapping[str, list[str]]:
    words: defaultdict[str, list[str]] = defaultdict(list)
    for word in list_common_words(language):
        words[_prefix(word)].append(word)
    return dict(words)


@cache
def _terms(prefix: str, language: str) -> frozenset[str]:
    """The terms of the common words that begin so: few are stemmed for one question, and none twice."""
    # Word by word: together they might be taken for another language.
    return frozenset(term for word in _words_by_prefix(language)[prefix] for term in to_terms(word, language))
