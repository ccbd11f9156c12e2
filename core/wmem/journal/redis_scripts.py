"""Lua scripts of the Redis journal, each of them atomic.

Cursors are stream ids, `version-chain`, in decimal. A chain has 52 bits, so that Lua's
doubles hold it; record ids have 63 and stay text. Every script accesses each key it will
write before its first write, and nothing can fail after that: a failed script changed nothing.

What is absent is told from what is lost: a scope is in three keys of its root, births, register and
names, from its first record until it is deleted, or forgotten a day after it lapsed. Where they and
the scope's own two keys contradict each other a script answers `LOST`, the kind of key and the path.
"""

import hashlib
from typing import NamedTuple

LOST = "WMEMLOST"
"""The first word of the error of a script that misses a key."""


class Script(NamedTuple):
    """A script and its SHA-1, by which EVALSHA runs it once the server has cached it."""

    text: str
    sha: str


def _script(body: str) -> Script:
    text = _COMMON_LUA + body
    return Script(text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())


_COMMON_LUA = """
local ORIGIN = '0-0'

local function decimal(number) return string.format('%.0f', number) end
local function version(cursor) return tonumber(string.match(cursor, '^%d+')) end

local function clock()
  local now = redis.call('TIME')
  return now[1] * 1000 + math.floor(now[2] / 1000)
end

local function lost(kind, path) return redis.error_reply('WMEMLOST ' .. kind .. ' ' .. path) end

-- Head, base, birth and bytes of a journal, or nil; and the kind of key that is lost of it, or nil. There is none after
-- the instant that the register has for it, at which both its keys expire. `birth` is the path's in births, `parts` how
-- many of births, register and names there are: keys are lost whole, so only where one is are its members looked at.
local function journal(hash, stream, register, names, path, birth, parts)
  local known = redis.call('HMGET', hash, 'head', 'base', 'birth', 'bytes')
  if known[1] then
    -- Without a record after the snapshot there is no stream.
    if known[1] ~= known[2] and redis.call('EXISTS', stream) == 0 then return nil, 'stream' end
    if birth ~= known[3] then return known, 'births' end
    if parts == 3 then return known end
    return known, redis.call('EXISTS', register) == 0 and 'register' or 'names'
  end
  if parts == 3 and not birth then return nil end
  if redis.call('EXISTS', hash, stream) > 0 then return nil, 'hash' end
  local kept, named = redis.call('ZSCORE', register, path), redis.call('ZSCORE', names, path)
  if not (birth or kept or named) then return nil end
  if not birth then return nil, 'births' end
  if not kept then return nil, 'register' end
  if not named then return nil, 'names' end
  if kept == 'inf' or tonumber(kept) >= clock() then return nil, 'hash' end
end

-- How many scopes the three keys of a root hold. The births have one more field while the root is taken off the list.
local function counts(births, register, names)
  local born = redis.call('HLEN', births) - redis.call('HEXISTS', births, '')
  return born, redis.call('ZCARD', register), redis.call('ZCARD', names)
end

-- The kind of key of a root that has lost members, or nil.
local function lacking(births, register, names)
  local born, kept, named = counts(births, register, names)
  local most = math.max(born, kept, named)
  return (born < most and 'births') or (kept < most and 'register') or (named < most and 'names') or nil
end

local function holds(stream, known, cursor)
  if cursor == known[1] or cursor == known[2] then return true end
  return #redis.call('XRANGE', stream, cursor, cursor, 'COUNT', 1) == 1
end

-- Joined, base, snapshot, records, head, birth; false instead when that is more than `most` records.
local function tail(hash, stream, known, birth, after, most)
  if not known then return {after == ORIGIN and 1 or 0, ORIGIN, false, {}, ORIGIN, birth} end
  local joined = holds(stream, known, after)
  local base = joined and after or known[2]
  local snapshot, records = false, {}
  if most and ((not joined and base ~= ORIGIN) or version(known[1]) - version(base) > most) then return false end
  if not joined and base ~= ORIGIN then snapshot = redis.call('HGET', hash, 'snap') end
  if base ~= known[1] then records = redis.call('XRANGE', stream, '(' .. base, known[1]) end
  return {joined and 1 or 0, base, snapshot, records, known[1], birth}
end

-- Whether a journal that is kept for `left` ms (-1: for ever) must be kept longer, to be kept `ms` from now ('': for
-- ever), or its stream, just made, has yet to be given the time of its hash.
local function due(ms, left, fresh)
  return left ~= -1 and (ms == '' or fresh or tonumber(ms) > left)
end

-- Both keys expire at one instant, so that no half is ever read.
local function keep(hash, stream, register, path, ms, left)
  if ms == '' then
    redis.call('PERSIST', hash)
    redis.call('PERSIST', stream)
    redis.call('ZADD', register, '+inf', path)
  else
    local at = decimal(clock() + math.max(tonumber(ms), left))
    redis.call('PEXPIREAT', hash, at)
    redis.call('PEXPIREAT', stream, at)
    redis.call('ZADD', register, at, path)
  end
end

-- Forgets the lives of the scopes that lapsed longest ago, `most` at once, if it is a day and more: whoever held them
-- does no more, and a root whose scopes all lapse would remember ever more of them.
local function forget(births, register, names, hashes, streams, most)
  local past, forgotten = decimal(clock() - 86400000), 0
  for _, path in ipairs(redis.call('ZRANGEBYSCORE', register, '-inf', past, 'LIMIT', 0, most)) do
    if redis.call('EXISTS', hashes .. path, streams .. path) == 0 then
      redis.call('HDEL', births, path)
      redis.call('ZREM', register, path)
      redis.call('ZREM', names, path)
      forgotten = forgotten + 1
    end
  end
  return forgotten
end

-- Marks a root that has lost its last scope until it is off the list of roots, which has another cluster slot: until
-- then it is not one whose keys are lost, and whoever begins a scope in it lists it again.
local function mark_ended(births)
  if redis.call('EXISTS', births) == 1 then return 1 end
  redis.call('HSET', births, '', 'ended')
  return 2
end

-- The paths, as JSON, below the one that `prefix` begins: after its segments another follows.
-- By a range of names and not by a look at each: a root may have thousands.
local function below(names, prefix)
  return redis.call('ZRANGEBYLEX', names, '[' .. prefix .. ',', '(' .. prefix .. '-')
end
"""

READ = _script("""
-- KEYS: births, register, names, then hash and stream of each path. ARGV: the paths, then the cursor of each.
-- Answers the birth alone, or '', where there is nothing new; where there is nothing new anywhere, all of them in
-- one text with a blank between them: a text costs less to read than a list. 0 when the root has no scope at all.
local births, register, names = unpack(KEYS, 1, 3)
local count, replies, news = #ARGV / 2, {}, false
local parts = redis.call('EXISTS', births, register, names)
for first = 1, count, 1000 do
  local last = math.min(first + 999, count)
  local born = redis.call('HMGET', births, unpack(ARGV, first, last))
  for n = first, last do
    local hash, stream, after = KEYS[2 * n + 2], KEYS[2 * n + 3], ARGV[count + n]
    local birth = born[n - first + 1]
    local known, gone = journal(hash, stream, register, names, ARGV[n], birth, parts)
    if gone then return lost(gone, ARGV[n]) end
    if after == (known and known[1] or ORIGIN) then
      replies[n] = birth or ''
    else
      replies[n], news = tail(hash, stream, known, birth or '', after), true
    end
  end
end
if parts == 0 then return 0 end
if not news then return table.concat(replies, ' ') end
return replies
""")

_APPEND_LUA = """
-- KEYS: births, hash, stream, register, names. ARGV: see below; `expected` is '', 'c' and a cursor, or 'b' and a birth.
-- Answers 'cursor head-before bytes birth'; refused {head, bytes, birth, missed or false};
-- {} when the root must be listed first, {'ended'} when it is just being taken off the list.
local births, hash, stream, register, names = unpack(KEYS)
local path, id, record, expected, ms, salt, most, frees, rooted = unpack(ARGV)
local birth = redis.call('HGET', births, path)
local parts = redis.call('EXISTS', births, register, names)
local known, gone = journal(hash, stream, register, names, path, birth, parts)
if gone then return lost(gone, path) end
local head = known and known[1] or ORIGIN
local kind, wanted = string.sub(expected, 1, 1), string.sub(expected, 2)
if (kind == 'c' and wanted ~= head) or (kind == 'b' and not (known and wanted == birth)) then
  local missed = kind == 'c' and tail(hash, stream, known, birth or '', wanted, tonumber(most))
  return {head, known and known[4] or 0, birth or '', missed}
end
local left, fresh = 0, true
if known then
  left = redis.call('PTTL', hash)
  fresh = head == known[2] and redis.call('EXISTS', stream) == 0
else
  gone = lacking(births, register, names) or (redis.call('EXISTS', hash, stream) > 0 and 'hash')
  if gone then return lost(gone, path) end
  if rooted == '' then
    if redis.call('EXISTS', births) == 0 then return {} end
    if redis.call('HEXISTS', births, '') == 1 then return {'ended'} end
  end
end
if due(ms, left, fresh) then redis.call('ZSCORE', register, path) end
-- After any write, even one that changes nothing, a full server no longer refuses the append.
if known and frees == '1' then redis.call('ZREM', names, '') end
local before = known and string.match(head, '%d+$') or salt
local chain = decimal(tonumber(string.sub(redis.sha1hex(before .. ':' .. id), 1, 13), 16))
local cursor = decimal(version(head) + 1) .. '-' .. chain
redis.call('XADD', stream, cursor, 'i', id, 'p', record)
local bytes = decimal((known and tonumber(known[4]) or 0) + #record)
if known then
  redis.call('HSET', hash, 'head', cursor, 'bytes', bytes)
else
  birth = birth or chain
  redis.call('HSET', hash, 'head', cursor, 'bytes', bytes, 'base', ORIGIN, 'birth', birth)
  redis.call('HSET', births, path, birth)
  redis.call('HDEL', births, '')
  redis.call('ZADD', names, 0, path)
end
if due(ms, left, fresh) then keep(hash, stream, register, path, ms, left) end
if not known then
  -- Each scope that begins sees to two.
  forget(births, register, names, string.sub(hash, 1, #hash - #path), string.sub(stream, 1, #stream - #path), 2)
end
return table.concat({cursor, head, bytes, birth}, ' ')
"""

APPEND = _script(_APPEND_LUA)

APPEND_ALL = _script(
    f"""
-- Several appends to paths of one root, as one. KEYS: those of each. ARGV: how many there are, and those of each.
-- Answers what each of them does. Where one fails after another was done, it answers false, for it changed nothing.
local function append(KEYS, ARGV)
{_APPEND_LUA}
end
local count, replies = tonumber(ARGV[1]), {{}}
local keys, args = #KEYS / count, (#ARGV - 1) / count
for at = 0, count - 1 do
  local done, reply = pcall(
    append, {{unpack(KEYS, at * keys + 1, (at + 1) * keys)}}, {{unpack(ARGV, at * args + 2, (at + 1) * args + 1)}}
  )
  if not done or (type(reply) == 'table' and reply.err) then
    if at == 0 then
      if done then return reply end
      error(reply)
    end
    reply = false
  end
  replies[at + 1] = reply
end
return replies
"""
)

COMPACT = _script("""
-- KEYS: births, hash, stream, register, names. ARGV: path, cursor, snapshot, ms. Answers whether it did.
local births, hash, stream, register, names = unpack(KEYS)
local path, upto, snapshot, ms = unpack(ARGV)
local birth = redis.call('HGET', births, path)
local parts = redis.call('EXISTS', births, register, names)
local known, gone = journal(hash, stream, register, names, path, birth, parts)
if gone then return lost(gone, path) end
if not known or version(upto) <= version(known[2]) or not holds(stream, known, upto) then return 0 end
redis.call('ZSCORE', register, path)
local left = redis.call('PTTL', hash)
local rest = redis.call('XRANGE', stream, '(' .. upto, known[1])
-- Written anew: trimming leaves what was trimmed in the server's memory, its files and its replicas.
redis.call('DEL', stream)
local bytes = 0
for _, entry in ipairs(rest) do
  redis.call('XADD', stream, entry[1], unpack(entry[2]))
  bytes = bytes + #(entry[2][4] or '')
end
redis.call('HSET', hash, 'base', upto, 'snap', snapshot, 'bytes', decimal(bytes))
if due(ms, left, #rest > 0) then keep(hash, stream, register, path, ms, left) end
return 1
""")

DELETE = _script("""
-- KEYS: births, register, names, hash, stream.
-- ARGV: path, prefix, life or '', what the names of hashes and of streams begin with.
-- Answers 0 when there is another life, 1 when it is done, 2 when the root has no scope left.
local births, register, names, hash, stream = unpack(KEYS)
local path, prefix, wanted, hashes, streams = unpack(ARGV)
local birth = redis.call('HGET', births, path)
redis.call('ZSCORE', register, path)
if wanted ~= '' and (redis.call('HGET', hash, 'birth') or birth) ~= wanted then
  local parts = redis.call('EXISTS', births, register, names)
  local _, gone = journal(hash, stream, register, names, path, birth, parts)
  return gone and lost(gone, path) or 0
end
local paths = below(names, prefix)
if lacking(births, register, names) then
  -- Names, register or births are lost: whatever one of them still names.
  local listed = {}
  for _, each in ipairs(paths) do listed[each] = true end
  for _, others in ipairs({redis.call('HKEYS', births), redis.call('ZRANGE', register, 0, -1)}) do
    for _, each in ipairs(others) do
      if string.sub(each, 1, #prefix + 1) == prefix .. ',' and not listed[each] then
        listed[each], paths[#paths + 1] = true, each
      end
    end
  end
end
paths[#paths + 1] = path
for first = 1, #paths, 1000 do
  local last = math.min(first + 999, #paths)
  local keys = {}
  for n = first, last do
    keys[#keys + 1] = hashes .. paths[n]
    keys[#keys + 1] = streams .. paths[n]
  end
  redis.call('DEL', unpack(keys))
  redis.call('HDEL', births, unpack(paths, first, last))
  redis.call('ZREM', register, unpack(paths, first, last))
  redis.call('ZREM', names, unpack(paths, first, last))
end
return mark_ended(births)
""")

PATHS = _script("""
-- KEYS: births, register, names. ARGV: prefix, or '' for the whole root; the root as a path.
-- Answers one JSON array; 0 when the root has no scope at all.
local births, register, names = unpack(KEYS)
local gone = lacking(births, register, names)
if gone then return lost(gone, ARGV[2]) end
if redis.call('EXISTS', births) == 0 then return 0 end
-- By score, not by looking at each scope's keys: they expire at that instant, and there may be thousands.
local at = clock()
local found
if ARGV[1] == '' then
  found = redis.call('ZRANGEBYSCORE', register, '(' .. decimal(at), '+inf')
else
  found = {}
  local named = below(names, ARGV[1])
  named[#named + 1] = ARGV[1] .. ']'
  for _, path in ipairs(named) do
    local score = redis.call('ZSCORE', register, path)
    if score and (score == 'inf' or tonumber(score) > at) then found[#found + 1] = path end
  end
end
return '[' .. table.concat(found, ',') .. ']'
""")

SWEEP = _script("""
-- KEYS: births, register, names. ARGV: what the names of hashes and of streams begin with, how many at most.
-- Answers how many lapsed scopes it forgot, and 2 when the root has none left.
local births, register, names = unpack(KEYS)
redis.call('HEXISTS', births, '')
redis.call('ZCARD', names)
local forgotten = forget(births, register, names, ARGV[1], ARGV[2], tonumber(ARGV[3]))
return {forgotten, forgotten > 0 and mark_ended(births) or 1}
""")

# -- the list of roots, and what tells whether one of them is lost


HAS_SCOPES = _script("""
-- KEYS: births. Answers whether the root has scopes, or is just being taken off the list.
return redis.call('EXISTS', KEYS[1])
""")

END_ROOT = _script("""
-- KEYS: births. Ends what `mark_ended` began; answers whether no scope began meanwhile.
if redis.call('HLEN', KEYS[1]) == redis.call('HEXISTS', KEYS[1], '') then
  redis.call('DEL', KEYS[1])
  return 1
end
redis.call('HDEL', KEYS[1], '')
return 0
""")

LOOK_UP = _script("""
-- KEYS: agents. ARGV: a root. Answers the id of the store, and the token of the root's present life.
return redis.call('HMGET', KEYS[1], 'id', '=' .. ARGV[1])
""")

CONFIRM = _script("""
-- KEYS: agents. ARGV: a root or '', a token for its life if it has none, an id for the store if it has none, or '',
-- then the roots that have scopes as far as is known: with a new id each of them gets the token, since it was lost.
-- Answers the id of the store; nil where it has none and none is given.
-- The root's scope has begun: after any write, even one that changes nothing, a full server takes the others.
if ARGV[1] ~= '' then redis.call('HDEL', KEYS[1], '') end
local id = redis.call('HGET', KEYS[1], 'id')
if not id then
  if ARGV[3] == '' then return false end
  id = ARGV[3]
  redis.call('HSET', KEYS[1], 'id', id)
  for n = 4, #ARGV do redis.call('HSETNX', KEYS[1], '=' .. ARGV[n], ARGV[2]) end
end
if ARGV[1] ~= '' then redis.call('HSETNX', KEYS[1], '=' .. ARGV[1], ARGV[2]) end
return id
""")

LIST_ROOTS = _script("""
-- KEYS: agents. Answers the roots that have scopes, as far as this tells.
local roots = {}
for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
  if string.sub(field, 1, 1) == '=' then roots[#roots + 1] = string.sub(field, 2) end
end
return roots
""")
