-- Stores or removes a key. KEYS: epoch, keys, changes, version. ARGV: time, epoch, name, and its
-- JSON, empty to remove it. Returns the new version, nothing in another epoch.
if redis.call('GET', KEYS[1]) ~= ARGV[2] then return false end
local version = redis.call('INCR', KEYS[4])
if ARGV[4] == '' then
  redis.call('HDEL', KEYS[2], ARGV[3])
else
  redis.call('HSET', KEYS[2], ARGV[3], ARGV[4])
end
redis.call('HSET', KEYS[3], ARGV[3], version)
return version
