-- Keeps the reservations of requests that still run. KEYS: reservations. ARGV: time, milliseconds, ids.
local until_then = clock(ARGV[1]) + tonumber(ARGV[2])
for each = 3, #ARGV do redis.call('ZADD', KEYS[1], 'XX', whole(until_then), ARGV[each]) end
