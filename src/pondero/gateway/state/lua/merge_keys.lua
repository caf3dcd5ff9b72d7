-- Merges a replica's copy of the keys into those of Redis: of each key, the later change holds.
-- KEYS: keys, changes, version. ARGV: time, then for each key: name, version of its last change, and
-- its JSON, empty if it was removed.
local latest, applied = 0, false
for at = 2, #ARGV, 3 do
  local name, version, text = ARGV[at], tonumber(ARGV[at + 1]), ARGV[at + 2]
  local known = redis.call('HGET', KEYS[2], name)
  if not known and redis.call('HEXISTS', KEYS[1], name) == 1 then known = 0 end
  if not known or tonumber(known) < version then
    if text == '' then redis.call('HDEL', KEYS[1], name) else redis.call('HSET', KEYS[1], name, text) end
    redis.call('HSET', KEYS[2], name, whole(version))
    latest, applied = math.max(latest, version), true
  end
end
local version = tonumber(redis.call('GET', KEYS[3]) or '0')
if applied then redis.call('SET', KEYS[3], whole(math.max(version, latest) + 1)) end
