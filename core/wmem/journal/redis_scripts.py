"""Lua scripts of the Redis journal, each of them atomic.

Cursors are stream ids, `version-chain`, in decimal. A chain has 52 bits, so that Lua's
doubles hold it; record ids have 63 and stay text. Every script accesses each key it will
write before its first write, and nothing can fail after that: a failed script changed nothing.
"""

import hashlib
from typing import NamedTuple


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

-- Head, base, birth and bytes of a journal. Nil when there is none, or when it has lapsed: a
-- hash without its stream is half of one, unless every record is in the snapshot.
local function journal(hash, stream)
  local known = redis.call('HMGET', hash, 'head', 'base', 'birth', 'bytes')
  if known[1] and (known[1] == known[2] or redis.call('EXISTS', stream) == 1) then return known end
end

-- The life of a path, which outlasts the journal's lapse by a day.
local function life(known, births, path)
  if known then return known[3] end
  return redis.call('HGET', births, path)
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
    local now = redis.call('TIME')
    local at = decimal(now[1] * 1000 + math.floor(now[2] / 1000) + math.max(tonumber(ms), left))
    redis.call('PEXPIREAT', hash, at)
    redis.call('PEXPIREAT', stream, at)
    redis.call('ZADD', register, at, path)
  end
end

-- Forgets the lives of two scopes that lapsed longest ago, if it is a day and more: whoever held them does no more,
-- and a root whose scopes all lapse would remember ever more of them. Each that begins sees to two.
local function forget(births, register, names)
  local now = redis.call('TIME')
  local past = decimal((now[1] - 86400) * 1000)
  for _, path in ipairs(redis.call('ZRANGEBYSCORE', register, '-inf', past, 'LIMIT', 0, 2)) do
    redis.call('HDEL', births, path)
    redis.call('ZREM', register, path)
    redis.call('ZREM', names, path)
  end
end

-- The paths, as JSON, below the one that `prefix` begins: after its segments another follows.
-- By a range of names and not by a look at each: a root may have thousands.
local function below(names, prefix)
  return redis.call('ZRANGEBYLEX', names, '[' .. prefix .. ',', '(' .. prefix .. '-')
end
"""

READ = _script("""
-- KEYS: births, then hash and stream of each path. ARGV: path and cursor of each.
-- Answers the birth alone, or '', where there is nothing new; where there is nothing new anywhere, all of them in
-- one text with a blank between them: a text costs less to read than a list.
local replies, news = {}, false
for n = 1, #ARGV / 2 do
  local hash, stream, path, after = KEYS[2 * n], KEYS[2 * n + 1], ARGV[2 * n - 1], ARGV[2 * n]
  local known = journal(hash, stream)
  local birth = life(known, KEYS[1], path) or ''
  if after == (known and known[1] or ORIGIN) then
    replies[n] = birth
  else
    replies[n], news = tail(hash, stream, known, birth, after), true
  end
end
if not news then return table.concat(replies, ' ') end
return replies
""")

APPEND = _script("""
-- KEYS: births, hash, stream, register, names. ARGV: see below; `expected` is '', 'c' and a cursor, or 'b' and a birth.
-- Answers 'cursor head-before bytes birth'; refused {head, bytes, birth, missed or false};
-- {} when the root must be made known first.
local births, hash, stream, register, names = unpack(KEYS)
local path, id, record, expected, ms, salt, most, rooted = unpack(ARGV)
local known = journal(hash, stream)
local head = known and known[1] or ORIGIN
local birth = life(known, births, path)
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
  if rooted == '' and redis.call('EXISTS', births) == 0 then return {} end
  redis.call('ZSCORE', names, path)
  -- What an expiry left of it. Only then: after any write a full server no longer refuses the append.
  if redis.call('EXISTS', hash, stream) > 0 then redis.call('DEL', hash, stream) end
end
if due(ms, left, fresh) then redis.call('ZSCORE', register, path) end
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
  redis.call('ZADD', names, 0, path)
end
if due(ms, left, fresh) then keep(hash, stream, register, path, ms, left) end
if not known then forget(births, register, names) end
return table.concat({cursor, head, bytes, birth}, ' ')
""")

COMPACT = _script("""
-- KEYS: hash, stream, register. ARGV: path, cursor, snapshot, ms. Answers whether it did.
local hash, stream, register = unpack(KEYS)
local path, upto, snapshot, ms = unpack(ARGV)
local known = journal(hash, stream)
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
local births, register, names, hash, stream = unpack(KEYS)
local path, prefix, wanted, hashes, streams = unpack(ARGV)
if wanted ~= '' and life(journal(hash, stream), births, path) ~= wanted then return 0 end
redis.call('ZSCORE', register, path)
local paths = below(names, prefix)
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
return 1
""")

PATHS = _script("""
-- KEYS: register, names. ARGV: prefix, or '' for the whole root. Answers one JSON array.
local now = redis.call('TIME')
-- By score, not by looking at each scope's keys: they expire at that instant, and there may be thousands.
local at = now[1] * 1000 + math.floor(now[2] / 1000)
local found
if ARGV[1] == '' then
  found = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. decimal(at), '+inf')
else
  found = {}
  local named = below(KEYS[2], ARGV[1])
  named[#named + 1] = ARGV[1] .. ']'
  for _, path in ipairs(named) do
    local score = redis.call('ZSCORE', KEYS[1], path)
    if score and (score == 'inf' or tonumber(score) > at) then found[#found + 1] = path end
  end
end
return '[' .. table.concat(found, ',') .. ']'
""")
