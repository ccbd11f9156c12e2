"""Skills: sequences of tool calls that worked several times, mined from traces.

`calls` reads calls into steps that hold no value of a user's, `sequences` takes retries and loops out of them,
`miner` finds what is frequent, `links` what of it is no accident, `shapes` generalizes parameters, `similarity` tells
variants, `wording` writes the text.
"""
