-- Names the data of this Redis, once. KEYS: the epoch. ARGV: time, a new id. Returns the id it has.
redis.call('SET', KEYS[1], ARGV[2], 'NX')
return redis.call('GET', KEYS[1])
