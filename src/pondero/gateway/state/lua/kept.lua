-- Entries of the store of answers, with their ends and sizes.
-- KEYS: an index of names by their end, their sizes, the sum of these.
-- ARGV: time, what to do, prefix of names, seconds, most bytes, then: names (get, delete); names and
-- values (put); a name, whether there is an old value, that value, the new value (swap).
local now, step, prefix = clock(ARGV[1]), ARGV[2], ARGV[3]
local span, most = tonumber(ARGV[4]) * 1000, tonumber(ARGV[5])
local index, sizes, sum = KEYS[1], KEYS[2], KEYS[3]

local function drop(name)
  local size = redis.call('HGET', sizes, name)
  redis.call('DEL', prefix .. name)
  redis.call('ZREM', index, name)
  redis.call('HDEL', sizes, name)
  if size then redis.call('DECRBY', sum, size) end
end

local function read(name)
  local until_ = redis.call('ZSCORE', index, name)
  if not until_ or tonumber(until_) <= now then return false end
  return redis.call('GET', prefix .. name)
end

local function extend(name)
  redis.call('ZADD', index, now + span, name)
  redis.call('PEXPIRE', prefix .. name, span)
end

local function add(name, value)
  local before = tonumber(redis.call('HGET', sizes, name) or 0)
  local size = #name + #value + 200
  redis.call('SET', prefix .. name, value)
  redis.call('HSET', sizes, name, size)
  redis.call('INCRBY', sum, size - before)
  extend(name)
end

-- Entries go first that were not used for the longest time.
local function forget()
  for _, name in ipairs(redis.call('ZRANGEBYSCORE', index, '-inf', now, 'LIMIT', 0, 1000)) do
    drop(name)
  end
  while tonumber(redis.call('GET', sum) or 0) > most do
    local oldest = redis.call('ZRANGE', index, 0, 0)[1]
    if not oldest then return end
    drop(oldest)
  end
end

if step == 'get' then
  local found = {}
  for at = 6, #ARGV do
    local value = read(ARGV[at])
    if value then extend(ARGV[at]) end
    found[at - 5] = value
  end
  return found
end
if step == 'delete' then
  for at = 6, #ARGV do drop(ARGV[at]) end
  return 1
end
if step == 'swap' then
  local known = read(ARGV[6])
  if ARGV[7] == '1' then
    if known ~= ARGV[8] then return 0 end
  elseif known then
    return 0
  end
  add(ARGV[6], ARGV[9])
else
  for at = 6, #ARGV, 2 do add(ARGV[at], ARGV[at + 1]) end
end
forget()
return 1
