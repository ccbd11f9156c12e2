"""Related words: a question names the kind of a thing ("pet") or a synonym, and a text the thing itself ("dog").

What a text shares with a question by such a word alone counts little, and only in the language of the table.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache

from wmem.analysis.analyzer import to_terms

# A kind, under each of its names, and things of this kind. Everyday life and work; no names of persons or brands.
_KINDS: Mapping[str, str] = {
    "english": """
pet animal: dog cat puppy kitten hamster rabbit bird parrot fish turtle snake lizard horse pony goat chicken bunny;
farm livestock: cow pig sheep goat horse chicken hen tractor barn crop harvest field;
wildlife wild: bear wolf deer fox eagle owl whale dolphin elephant lion tiger monkey safari zoo;
insect bug: bee ant spider mosquito butterfly wasp moth beetle;
instrument: guitar piano violin drum flute clarinet saxophone cello trumpet keyboard bass harp ukulele;
music musical: song band concert album guitar piano violin drum singer sing playlist jazz rock classical choir
    orchestra;
musician artist singer: band concert song album stage gig tour;
genre: jazz rock pop classical fantasy mystery thriller romance comedy horror fiction;
sport athletic athlete: basketball football soccer tennis baseball hockey golf swim run volleyball surf ski skate
    climb cycle race team match coach gym rugby cricket badminton;
exercise workout fitness fit: gym run jog swim yoga pilates weight lift hike cycle bike walk train cardio squat
    trainer;
hobby interest pastime leisure: paint draw read write cook bake garden dance photography knit sew craft hike fish
    camp collect chess game music puzzle pottery bike;
activity: hike walk swim camp paint read dance cook game picnic museum beach bike yoga class fish ski craft;
outdoors outdoor nature: hike camp park mountain beach lake forest trail river garden waterfall sunset kayak woods
    climb picnic bird stars;
place location spot destination: city town country beach park mountain museum lake restaurant cafe hotel village
    island;
travel trip vacation holiday journey: flight fly airport hotel tour beach drive abroad cruise train road itinerary
    passport luggage backpack sightsee;
abroad country overseas: italy france spain england britain japan china india mexico canada germany greece ireland
    scotland portugal brazil thailand australia egypt turkey korea sweden norway switzerland netherlands vietnam;
city town: paris london tokyo rome boston seattle chicago miami berlin barcelona amsterdam sydney toronto york
    dublin madrid vienna austin denver;
state: california florida texas oregon washington michigan minnesota colorado arizona ohio virginia georgia nevada;
family relative: mother father sister brother son daughter husband wife parent cousin aunt uncle grandmother
    grandfather niece nephew;
child: son daughter boy girl toddler baby teenager;
parent: mother father;
sibling: brother sister twin;
spouse partner: husband wife marry boyfriend girlfriend fiance;
romantic relationship marital: single marry divorce boyfriend girlfriend husband wife date engage breakup partner
    wedding;
friend friendship: buddy pal mate colleague neighbor roommate;
pregnancy birth: baby pregnant newborn due hospital;
job career work profession occupation employment: company office boss hire teacher nurse engineer doctor lawyer
    manager business startup interview salary promotion colleague designer developer accountant;
employer workplace: company office boss manager;
business company: startup store shop client customer investor founder brand sale market revenue;
education school study academic: college university class course teacher student major exam lecture thesis
    semester homework scholarship;
degree qualification: bachelor master doctorate diploma certificate major;
subject: history science biology physics chemistry psychology economics literature geography;
book read author novel literature: story series library fiction writer chapter memoir poem biography publish;
movie show series television: watch actor cinema theater comedy drama documentary episode season;
game gaming: play console card board chess tournament puzzle video level;
art artwork artistic: paint draw sculpture pottery sketch museum gallery exhibit canvas watercolor portrait;
craft handmade: knit sew crochet pottery clay wood carve jewelry paint quilt;
food dish meal cuisine: eat cook recipe dinner lunch breakfast pizza pasta salad chicken soup cake rice sandwich
    curry sushi steak taco restaurant snack vegetable;
dessert sweet treat: cake cookie chocolate pie brownie cream pastry muffin candy;
drink beverage: coffee tea wine beer juice smoothie water cocktail soda milk;
vegetable fruit: tomato carrot potato onion apple banana berry strawberry orange lemon mango grape;
ingredient: flour sugar butter egg garlic salt oil cheese cream;
diet dietary: vegetarian vegan gluten sugar calorie keto protein dairy meat;
allergic allergy: peanut nut gluten dairy pollen shellfish;
health medical medicine: doctor hospital sick pain surgery diagnose medication symptom therapy clinic nurse checkup;
illness disease condition sick: flu cold fever cancer diabetes asthma infection migraine diagnose symptom allergy;
injury hurt: ankle knee sprain break twist accident shoulder wrist bruise crutch cast;
body: head arm leg hand knee back shoulder foot eye skin;
emotion feel mood: happy sad excite proud anxious stress nervous scare grateful lonely upset joy angry overwhelm
    calm;
stress anxious worry: pressure overwhelm nervous tense deadline burnout panic;
relax unwind destress calm: yoga meditate read walk bath music nature massage nap;
sleep: insomnia nap bed tired night dream;
vehicle transport transportation commute: car bike truck bus train motorcycle van drive subway taxi scooter ride;
house home residence live: apartment move rent condo cottage cabin mortgage neighborhood landlord suburb;
room: kitchen bedroom bathroom garage basement living office attic;
furniture: sofa couch table chair desk bed shelf lamp;
appliance: oven fridge dishwasher washer microwave vacuum;
clothes clothing wear outfit fashion: dress shirt shoe jacket hat skirt jeans sweater coat scarf suit boot;
jewelry accessory: necklace ring bracelet earring watch;
gift present: birthday necklace book flowers card surprise wrap;
event: party wedding festival concert conference fair workshop exhibition fundraiser competition meetup ceremony
    parade;
celebration celebrate: birthday party anniversary wedding cake toast christmas;
holiday: christmas thanksgiving halloween easter birthday;
competition contest: win prize trophy medal tournament race final champion judge;
award achievement accomplishment: win prize trophy medal certificate promotion record;
volunteer charity community: shelter homeless donate fundraiser foodbank cause nonprofit mentor raise cleanup;
religion religious spiritual faith: church pray god bible temple mosque synagogue;
politics political government: campaign election policy vote mayor senator law;
gender sexuality: gay lesbian transgender queer straight bisexual;
ethnic nationality origin heritage: born immigrant culture root homeland ancestor;
money financial finance: invest budget salary dollar debt loan fund bank cost pay mortgage tax;
price cost expense: dollar pay cheap expensive fee bill afford;
technology device gadget tech: laptop computer app software camera tablet robot headphones;
programming language code: python java javascript rust typescript;
software tool framework: app library database api plugin;
online internet website: blog post video channel stream forum;
social media: post blog video channel follower;
plan goal future intend: hope want dream aim soon next;
problem challenge obstacle difficulty setback trouble issue: hard tough struggle lose break fail stuck worry;
skill ability talent: learn class course practice teach train;
weather climate: rain snow sun storm cold hot wind fog humid;
age old: birthday turn born;
color: red blue green yellow purple orange pink black white brown gray;
plant flower garden: rose sunflower tulip tree lily orchid herb seed basil daisy lavender;
disaster emergency: flood fire storm hurricane earthquake tornado evacuate;
military army: soldier veteran navy deploy service base;
crime: steal robbery police theft burglar;
legal law: lawyer court judge contract lawsuit;
pollution environment environmental: recycle climate plastic waste energy solar;
personality trait character: kind caring honest shy outgoing creative patient brave thoughtful;
appearance look: hair tall eyes beard glasses;
language: spanish french german italian japanese chinese english korean portuguese arabic;
science scientific: research experiment physics biology chemistry lab theory;
space astronomy: star planet moon telescope rocket galaxy;
toy: doll lego puzzle ball bear;
decoration decor: candle lights poster frame balloon;
contact communicate: call text email letter chat;
schedule appointment meeting: monday tuesday wednesday thursday friday saturday sunday calendar;
document paperwork: form letter passport license contract report;
payment: card credit debit cash certificate;
luggage: bag suitcase backpack;
seat cabin: economy business aisle window
""",
}
# Words that say the same, or nearly; each stands for each.
_SYNONYMS: Mapping[str, str] = {
    "english": """
buy purchase order; begin start launch; film movie; adopt adoption; enjoy love like fun; favorite like love prefer;
reason motive; inspire motivate encourage; attend join go; participate attend join compete; visit trip travel go;
receive get give; recent lately last; create make build; relocate move; travel trip fly visit; describe say; discuss
talk chat speak; recommend suggest advise; help assist support; realize learn discover; decide choose pick; handle
cope manage deal; quit leave resign; sick ill unwell; injure hurt; marry wedding spouse; pass die death lose; die
death funeral; picture photograph camera; nickname call; author write; win prize first; teach lesson class; intend
plan hope; workshop class course; present gift; fund raise donate; pregnant baby expect; bake cook recipe; supper
dinner; big large huge; small little tiny; rich wealthy; smart clever intelligent; angry mad upset; sad unhappy; happy
glad joy; afraid fear scare; tired exhausted; busy hectic; fast quick; difficult hard tough; easy simple; beautiful
gorgeous pretty; funny hilarious joke; strange weird odd; finish complete end; repair fix mend; clean tidy wash; error
bug fail crash; cancel refund; change modify update; return refund back; ship deliver delivery; reserve book
reservation; flight fly airline; hotel accommodation stay; car vehicle; shop store; earn salary income pay; job
career; boss manager supervisor; colleague coworker; fire dismiss layoff; exam test; doctor physician; medicine
medication drug pill; hospital clinic surgery; dentist tooth; allergy allergic; hobby pastime; jog run; hike trail
mountain; swim pool; bike cycle; concert gig; song sing; dance dancer ballet; paint painter painting; photo
photography; novel book; poem poetry; garden plant; house home; flat apartment; roommate flatmate; neighbor
neighborhood; parent mother father; son daughter; sister brother sibling; grandmother grandfather grandparent; wife
husband; friend buddy; birthday born; anniversary years; vacation holiday; beach sea ocean; forest woods; country
nation; city town; street road; money cash; cheap affordable; expensive pricey costly; borrow loan; owe debt; message
text; email mail; meet meeting; schedule appointment; deadline due; remember recall remind; forget remind; believe
faith; dream goal ambition; worry concern anxious; hope wish; promise vow; argue fight argument; apologize sorry;
thank grateful; celebrate party; surprise shock; explore discover; improve better progress; grow growth; lose loss;
find discover; keep maintain; raise rear; rescue shelter adopt; donate give charity; volunteer help; protest march
rally; vote election; identity identify; passion love; interested interest curious; proud accomplish achievement;
success succeed achieve; fail failure; risk danger; safe secure security; password login authentication; deploy
release; schema database; speed performance slow latency; salary wage
""",
}


_PREFIX = 2  # letters that a word and its term share


@cache
def _read_groups(language: str) -> Mapping[str, Sequence[tuple[str, Sequence[str]]]]:
    """The names of kinds, and all synonyms, with the words related to each, by the first letters of the name."""
    groups = defaultdict[str, list[tuple[str, Sequence[str]]]](list)
    kinds = (kind.partition(":") for kind in _KINDS.get(language, "").split(";"))
    synonyms = ((group, "", "") for group in _SYNONYMS.get(language, "").split(";"))
    for names, _, things in (*kinds, *synonyms):
        words = f"{names} {things}".split()
        for name in names.split():
            groups[name[:_PREFIX]].append((name, words))
    return dict(groups)


@cache
def _read_terms(language: str, prefix: str) -> Mapping[str, Sequence[str]]:
    """The terms of the names that begin with a prefix of `_read_groups`, and those related to each."""
    related = defaultdict[str, dict[str, None]](dict)
    for name, words in _read_groups(language)[prefix]:
        others = dict.fromkeys(other for word in words for other in to_terms(word, language))
        for term in to_terms(name, language):
            related[term] |= others
    return {term: [each for each in others if each != term] for term, others in related.items()}


def expand_term(term: str, language: str) -> Sequence[str]:
    """The terms of the words related to a term, without it; none in a language that has no table."""
    prefix = term[:_PREFIX]
    # The terms of a question are nobody's to keep: what is cached is the table alone.
    return _read_terms(language, prefix).get(term, ()) if prefix in _read_groups(language) else ()
