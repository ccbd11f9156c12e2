"""English word forms that no stemmer rule covers: irregular inflections, spelling variants and short forms."""

# A word and its forms. A form that is also another word is listed if in talk it is mostly this one.
_IRREGULAR = """
become became; begin began begun; bite bit bitten; blow blew blown; break broke broken; bring brought;
build built; buy bought; catch caught; choose chose chosen; come came; deal dealt; dig dug; draw drew drawn;
dream dreamt; drink drank drunk; drive drove driven; eat ate eaten; fall fell fallen; feed fed; feel felt;
fight fought; find found; fly flew flown; forget forgot forgotten; forgive forgave forgiven; freeze froze frozen;
get got gotten; give gave given; go went gone; grow grew grown; hang hung; hear heard; hide hid hidden; hold held;
keep kept; know knew known; lead led; learn learnt; leave left; lend lent; light lit; lose lost; make made;
mean meant; meet met; pay paid; ride rode ridden; ring rang rung; rise rose risen; run ran; say said; see saw seen;
seek sought; sell sold; send sent; shake shook shaken; shine shone; shoot shot; show shown; sing sang sung;
sink sank sunk; sit sat; sleep slept; speak spoke spoken; spend spent; stand stood; steal stole stolen;
stick stuck; strike struck; swear swore sworn; swim swam swum; take took taken; teach taught; tear tore torn;
tell told; think thought; throw threw thrown; understand understood; wake woke woken; wear wore worn; win won;
write wrote written; child children; foot feet; tooth teeth; mouse mice; goose geese; man men; woman women;
wife wives; knife knives; loaf loaves; shelf shelves; half halves; wolf wolves
"""
_SPELLINGS = """
color colour; favor favour; favorite favourite fave fav; flavor flavour; harbor harbour; honor honour; humor humour;
labor labour; neighbor neighbour; neighborhood neighbourhood; behavior behaviour; center centre; theater theatre;
liter litre; meter metre; gray grey; cozy cosy; jewelry jewellery; catalog catalogue; dialog dialogue;
practice practise; program programme; tire tyre; pajamas pyjamas; yogurt yoghurt; donut doughnut; organize organise;
realize realise; recognize recognise; apologize apologise; analyze analyse; okay ok
"""
_SHORT_FORMS = """
mother mom mum mommy mummy mama; father dad daddy papa; grandmother grandma granny; grandfather grandpa;
boyfriend bf; girlfriend gf; bicycle bike; photograph photo; picture pic; television tv;
refrigerator fridge; telephone phone; airplane plane aeroplane; veterinarian vet; examination exam; university uni;
professor prof; doctor dr; birthday bday; apartment apt; vegetable veggie; mathematics math maths; gymnasium gym;
advertisement ad; laboratory lab; motorcycle motorbike; child kid
"""
_NUMBERS = """
2 two; 3 three; 4 four; 5 five; 6 six; 7 seven; 8 eight; 9 nine; 10 ten; 11 eleven; 12 twelve
"""
BASE_FORMS = {form: base for base, *forms in map(str.split, f"{_IRREGULAR};{_NUMBERS}".split(";")) for form in forms}
"""Base form of each form."""
BASE_FORMS |= {
    inflected: base
    for base, *forms in map(str.split, f"{_SPELLINGS};{_SHORT_FORMS}".split(";"))
    for form in forms
    for begun in (form.removesuffix("e"),)
    for inflected in (form, f"{form}s", f"{begun}ed", f"{begun}ing")
}
