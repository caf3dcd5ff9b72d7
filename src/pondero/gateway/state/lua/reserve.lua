-- Takes all of some amounts for a request, or none of them.
-- KEYS: reservations, then the counters. ARGV: time, id, milliseconds until an unrenewed reservation
-- expires, then for each counter: rolling, per, most, amount. Returns nothing, or which counter has
-- no room for the longest, how much of it is taken, and in how many milliseconds there is room.
local now, id, hold = clock(ARGV[1]), ARGV[2], tonumber(ARGV[3])
local reservations = KEYS[1]

if redis.call('EXISTS', reservations .. ':' .. id) == 1 then return {} end  -- sent twice

-- The process of an expired reservation is dead or cut off, and the service may have served all of
-- it: the amount stays counted. A process that comes back within a day can still correct it.
for _, due in ipairs(redis.call('ZRANGEBYSCORE', reservations, '-inf', whole(now))) do
  redis.call('PEXPIRE', reservations .. ':' .. due, 86400000)
  redis.call('ZREM', reservations, due)
end

local spans, worst = {}, nil
for number = 2, #KEYS do
  local at = 4 * (number - 1)
  local most, amount = tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  local span = window(ARGV[at], ARGV[at + 1], now)
  local kept, slots, counts, taken = redis.call('HGETALL', KEYS[number]), {}, {}, 0
  spans[number] = span
  for each = 1, #kept, 2 do
    local slot = tonumber(kept[each])
    if slot < span.since then
      redis.call('HDEL', KEYS[number], kept[each])
    else
      slots[#slots + 1], counts[slot] = slot, tonumber(kept[each + 1])
      taken = taken + counts[slot]
    end
  end
  local over = taken + amount - most
  if over > 0 and amount > 0 then
    local free = span.ends(span.slot)
    table.sort(slots)
    for _, slot in ipairs(slots) do
      over = over - counts[slot]
      if over <= 0 then
        free = span.ends(slot)
        break
      end
    end
    if worst == nil or free - now > worst[3] then worst = {number - 2, taken, free - now} end
  end
end
if worst then return {worst[1], whole(worst[2]), whole(worst[3])} end

for number = 2, #KEYS do
  local amount = tonumber(ARGV[4 * (number - 1) + 3])
  local slot = spans[number].slot
  add(KEYS[number], spans[number], slot, amount)
  redis.call('HSET', reservations .. ':' .. id, KEYS[number], whole(slot) .. ':' .. whole(amount))
end
redis.call('ZADD', reservations, whole(now + hold), id)
return {}
