-- Gives data a new name if another process of Redis has them: they may come from an old file, or
-- from a replica that was behind. Replicas then give back what they saw; the counts that are here
-- count as given back, so that a replica adds only what is missing.
-- KEYS: epoch, its process. ARGV: time, a new epoch, then patterns of the counters of budgets and of
-- rolling windows.
local told = redis.pcall('INFO', 'server')  -- it may be forbidden
local process = type(told) == 'string' and string.match(told, 'run_id:(%x+)')
if not process or redis.call('GET', KEYS[2]) == process then return end
local known = redis.call('EXISTS', KEYS[1]) == 1
redis.call('SET', KEYS[2], process)
if not known then return end
redis.call('SET', KEYS[1], ARGV[2])

local function begin_again(counter, counts)
  for _, field in ipairs(redis.call('HKEYS', counter)) do
    if string.match(field, '^given') then redis.call('HDEL', counter, field) end
  end
  redis.call('HSET', counter, 'born', new_name())
  for field, count in pairs(counts) do redis.call('HSET', counter, field, whole(count)) end
end

local now = clock(ARGV[1])
for _, counter in ipairs(redis.call('KEYS', ARGV[3])) do
  local counts = {}
  for slot, count in pairs(slots_of(counter)) do counts[given('0', slot)] = count end
  begin_again(counter, counts)
end
for _, counter in ipairs(redis.call('KEYS', ARGV[4])) do
  local span = window('1', string.match(counter, ':limit:[^:]+:([^:]+):'), now)
  local sum = 0
  for slot, count in pairs(slots_of(counter)) do
    if slot >= span.since and slot <= span.last then sum = sum + count end
  end
  begin_again(counter, {[given('1')] = sum})
end
