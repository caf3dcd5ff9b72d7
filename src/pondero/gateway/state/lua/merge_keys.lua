-- Merges a replica's copy of the keys into those of Redis: of each key, the later change holds. A row
-- that Redis lost is given back, unless its last change is later than the copy.
-- KEYS: keys, changes, version. ARGV: time, then for each key: name, version of its last change, and
-- its JSON, empty if it was removed.
local applied = false
for at = 2, #ARGV, 3 do
  local name, version, text = ARGV[at], tonumber(ARGV[at + 1]), ARGV[at + 2]
  local has = redis.call('HEXISTS', KEYS[1], name) == 1
  local known = tonumber(redis.call('HGET', KEYS[2], name) or (has and '0' or '-1'))
  if known < version or (known == version and not has) then
    redis.call('HSET', KEYS[1], name, text)
    redis.call('HSET', KEYS[2], name, whole(version))
    applied = true
  end
end
local version, latest = tonumber(redis.call('GET', KEYS[3]) or '0'), 0
for _, each in ipairs(redis.call('HVALS', KEYS[2])) do latest = math.max(latest, tonumber(each)) end
if applied or version < latest then redis.call('SET', KEYS[3], whole(math.max(version, latest) + 1)) end
