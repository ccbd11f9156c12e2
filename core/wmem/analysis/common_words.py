"""Words that are common in a language: a text and a question share them by chance, though few texts here have them.

In a small scope "want" or "open" is as rare as a name. What is rare in the scope and rare in the language says
what a text is about; what is merely rare in the scope does not.
"""

from collections import defaultdict
from collections.abc import Mapping
from functools import cache

from wmem.analysis.stemmer import stem

# Words that fit a text about anything. No stop words, and nothing that is itself a subject: places, people, things.
_COMMON_WORDS: Mapping[str, str] = {
    "english": (
        "able accept account accurate achieve across action actual actually add advantage advice affect ago agree "
        "agreement ahead aim allow almost alone along already alright although always amazing amongst amount "
        "analysis another answer anybody anymore anyone anything anytime anyway anywhere apart appear appearance "
        "application apply approach appropriate area argue argument around arrange arrive ask aspect assist "
        "associate assume assumption attempt attitude attract available average avoid aware away background bad "
        "base basic basically basis become begin behavior behind believe belong benefit best better beyond big bite "
        "both bother brief briefly bring broad build bunch call capable care careful case category cause central "
        "certain certainly challenge chance change character characteristic charge check chief choice choose "
        "circumstance claim clear clearly close collect combination combine come comfortable comment commit common "
        "commonly communicate compare complete completely complex concept concern conclusion condition conduct "
        "confirm conflict confuse connect consequence consider considerable consist construct contact contain "
        "content continue contrast contribute control convert copy core correct count couple course cover create "
        "creation critical current currently date day deal decide decision dedicated deep default define definitely "
        "definition degree deliver demand demonstrate depend describe description deserve desire despite detail "
        "determine develop difference different difficult difficulty direct direction directly discover discuss "
        "discussion display distinct distinction divide doubt due earlier easily easy effect effort either element "
        "else emphasis enable encourage end engage enjoy enough ensure enter entire entirely equal especially "
        "essential establish etc evaluate even event eventually ever every everybody everyone everything everywhere "
        "evidence exact exactly example excellent except exchange excite exist existence expect expectation "
        "experience explain explanation explore express extend extent external extra extremely face fact factor "
        "fail failure fair fairly familiar far fashion favor favorite feature feel figure file final finally find "
        "fine finish first fit fix focus follow force forever forget form formal format former forward foundation "
        "free frequent frequently full fully fun function funny furthermore future general generally generate get "
        "give glad global go goal goes good great ground group grow growth guess guide half handle happen happy "
        "hard hardly hear hello help hence hey hi hide high highlight highly hold home honest honestly hope hour "
        "however huge human hurry idea ideal identify illustrate imagine immediate immediately impact implement "
        "important impossible impression improve improvement incident include increase increasingly indeed indicate "
        "individual influence information initial input inside instance instead intend intention interest introduce "
        "involve issue item judgment keep kind know knowledge large largely last late lately later latter lay lead "
        "learn least leave less let level life light like likely likewise limit line link list listen literally "
        "little live locate logic long longer look lot main mainly maintain major majority make manage manner many "
        "material matter maximum maybe mean meanwhile measure mechanism mention mere method middle might mind "
        "minimum minor minute miss mistake mode modern moment month moreover mostly move movement much multiple "
        "must myself name natural nature near nearly necessary necessity need neither never nevertheless new next "
        "nice nobody none normal normally note nothing notice number numerous object objective observation obtain "
        "obvious obviously occasion occur odd offer official often oh okay old one ongoing onto open operation opinion "
        "opportunity opposite option order ordinary organize origin original others otherwise ought outcome output "
        "outside overall overview pace pair part participate particular particularly partly pass past pattern "
        "people per perfect perfectly perform perhaps period person personal phase phrase pick piece place plain "
        "plan play please plenty plus point popular position positive possibility possible possibly post potential "
        "practical practice precise prefer preference preparation prepare presence present presumably pretty "
        "prevent previous previously primary principle prior priority probably problem procedure proceed process "
        "produce progress promise promote proper properly proportion proposal propose prospect prove provide public "
        "purpose pursue put quality quantity question quick quickly quite quote raise range rare rarely rate rather "
        "reach read readily ready real reality realize really reason reasonable receive recent recently recognition "
        "recognize recommend recommendation record reduce refer reference reflect regard regardless region regular "
        "relate relation relationship relative release relevant reliable rely remain remark remember remind remove "
        "repeat replace reply report represent request require requirement resource respect respond response "
        "responsibility responsible rest restrict result return reveal review right role rule run sample satisfy "
        "save say scheme scope search second secondary section see seek seem select selection send senior sense "
        "sentence separate sequence series serious seriously serve service set settle setup several shall shape "
        "share shift short shortly show shut side significance significant similar simple simply since single sit "
        "site situation size skip slightly slow small smart solution solve somebody someday somehow someone "
        "something sometime somewhat somewhere soon sorry sort source space speak special specific specifically "
        "specify spend spread stable stage stand standard start state statement status stay step stick still stop "
        "straight strange strategy strength stress strict strong strongly structure stuff style subject success "
        "successful suddenly sufficient suggest suggestion suitable sum summary support suppose sure surely "
        "surprise surround switch system take talk task team technique tell tend tendency term terrible test text "
        "thank theme theory therefore thing think thorough thoughts throughout throw thus till time today together "
        "tomorrow tonight top topic total totally toward transfer trend tried trouble true truly try turn twice "
        "type typical typically ultimate ultimately understand undertake unique unless unlike unlikely unusual "
        "upcoming update upon urgent usage use useful useless user usual usually utilise utilize valid valuable "
        "value variety various vary vast version versus via view vision visit volume wait want way weak weakness "
        "wealth week weird welcome well whatever whenever whereas wherever whether whichever whoever whole whose "
        "widely widespread willing wish within without wonder wonderful word work world worry worse worst worth "
        "write wrong yeah year yep yes yesterday yet yield yourself"
    ),
}
_PREFIX = 2  # letters that a word and its stem share


def is_common(term: str, language: str) -> bool:
    """Whether a term is the stem of a word that is common in its language; False for a language without a list."""
    words = _words_by_prefix(language) if language in _COMMON_WORDS else {}
    prefix = term[:_PREFIX]
    return prefix in words and term in _stems(prefix, language)


@cache
def _words_by_prefix(language: str) -> Mapping[str, list[str]]:
    words: defaultdict[str, list[str]] = defaultdict(list)
    for word in _COMMON_WORDS[language].split():
        words[word[:_PREFIX]].append(word)
    return dict(words)


@cache
def _stems(prefix: str, language: str) -> frozenset[str]:
    """The stems of the common words that begin so: few are stemmed for one question, and none twice."""
    return frozenset(stem(word, language) for word in _words_by_prefix(language)[prefix])
