-- Names the data of this Redis, once. KEYS: the epoch, its process, replicas. ARGV: time, a new id.
-- Returns the id it has. If replicas are known, this Redis lost its name and maybe more.
local known = redis.call('EXISTS', KEYS[3]) == 1
if redis.call('SET', KEYS[1], known and 'lost:' .. new_name() or ARGV[2], 'NX') then
  local told = redis.pcall('INFO', 'server')  -- it may be forbidden
  local process = type(told) == 'string' and string.match(told, 'run_id:(%x+)')
  if process then redis.call('SET', KEYS[2], process) end
end
return redis.call('GET', KEYS[1])
