-- Gives a Redis that lost data the counts and open reservations that a replica last saw. Each
-- replica may have seen another count: the largest holds, in addition to the use since.
-- KEYS: replicas, reservations. ARGV: time, the replica, the epoch, the number of counts, then for
-- each: counter, rolling, per, slot, count, and the birth of the counter that the replica has seen; then for each reservation: id,
-- counter, slot, amount. Returns the birth of the counter of each count.
local now, last = clock(ARGV[1]), 4 + 6 * tonumber(ARGV[4])
local intact = {}  -- before anything is given back, since a counter may have several slots
for at = 5, last, 6 do intact[ARGV[at]] = birth(ARGV[at]) == ARGV[at + 5] end
for at = 5, last, 6 do
  local counter, rolling = ARGV[at], ARGV[at + 1]
  local slot, count = tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4])
  local field = given(rolling, slot)  -- a replica knows the sum of a rolling window, not its slots
  local before = tonumber(redis.call('HGET', counter, field) or '0')
  if count > before and not intact[counter] then
    add(counter, window(rolling, ARGV[at + 2], now), slot, count - before)
    redis.call('HSET', counter, field, whole(count))
  end
end
for at = last + 1, #ARGV, 4 do
  local reservation, counter = KEYS[2] .. ':' .. ARGV[at], ARGV[at + 1]
  local place = ARGV[at + 2] .. ':' .. ARGV[at + 3] .. ':' .. birth(counter)
  redis.call('HSET', reservation, counter, place)
  redis.call('PEXPIRE', reservation, whole(LATE))
end
if redis.call('HEXISTS', KEYS[1], ARGV[2]) == 1 then redis.call('HSET', KEYS[1], ARGV[2], ARGV[3]) end
local births = {}
for at = 5, last, 6 do births[#births + 1] = birth(ARGV[at]) end
return births
