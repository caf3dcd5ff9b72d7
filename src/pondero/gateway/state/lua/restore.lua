-- Gives a Redis that lost its data the counts and open reservations that a replica last saw. Each
-- replica may have seen another count: the largest holds, in addition to the use since.
-- KEYS: reservations, restored counts. ARGV: time, the number of counts, then for each: counter,
-- rolling, per, slot, count; then for each reservation: id, counter, slot, amount.
local now, last = clock(ARGV[1]), 2 + 5 * tonumber(ARGV[2])
for at = 3, last, 5 do
  local counter, slot, count = ARGV[at], tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4])
  -- A replica knows the sum of a rolling window, not its slots.
  local field = ARGV[at + 1] == '1' and counter or counter .. '|' .. whole(slot)
  local before = tonumber(redis.call('HGET', KEYS[2], field) or '0')
  if count > before then
    add(counter, window(ARGV[at + 1], ARGV[at + 2], now), slot, count - before)
    redis.call('HSET', KEYS[2], field, whole(count))
  end
end
redis.call('PEXPIRE', KEYS[2], whole(UNUSED))
for at = last + 1, #ARGV, 4 do
  local reservation = KEYS[1] .. ':' .. ARGV[at]
  redis.call('HSET', reservation, ARGV[at + 1], ARGV[at + 2] .. ':' .. ARGV[at + 3])
  redis.call('PEXPIRE', reservation, whole(LATE))
end
