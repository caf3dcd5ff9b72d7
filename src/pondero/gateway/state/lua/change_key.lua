-- Stores or removes a key. KEYS: epoch, keys, changes, version. ARGV: time, epoch, name, its JSON,
-- empty to remove it: the empty row stays, so that a missing one is a loss; and the JSON that it
-- replaces, empty for any, '-' for none. Returns the new version, 0 if another key is stored,
-- nothing in another epoch.
if redis.call('GET', KEYS[1]) ~= ARGV[2] then return false end
local stored = redis.call('HGET', KEYS[2], ARGV[3]) or ''
if ARGV[5] == '-' then
  if stored ~= '' then return 0 end
elseif ARGV[5] ~= '' and stored ~= ARGV[5] then
  return 0
end
local version = tonumber(redis.call('GET', KEYS[4]) or '0')  -- may be lost alone
for _, each in ipairs(redis.call('HVALS', KEYS[3])) do version = math.max(version, tonumber(each)) end
version = version + 1
redis.call('SET', KEYS[4], whole(version))
redis.call('HSET', KEYS[2], ARGV[3], ARGV[4])
redis.call('HSET', KEYS[3], ARGV[3], whole(version))
return version
