-- What every script begins with: the time, and which slots count (as quota.window says it).
local SLOTS = 50
local LENGTHS = {second = 1000, minute = 60000, hour = 3600000, day = 86400000, week = 604800000}
local DAY = LENGTHS.day

-- The clock of Redis is the one clock of all replicas; a test may give another.
local function clock(given)
  if given ~= '' then return tonumber(given) end
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- The day of the month of a day since 1970, in the calendar that begins its years with March.
local function day_of_month(day)
  local since = (day + 719468) % 146097
  local year = math.floor((since - math.floor(since / 1460) + math.floor(since / 36524)
    - math.floor(since / 146096)) / 365)
  local of_year = since - (365 * year + math.floor(year / 4) - math.floor(year / 100))
  local month = math.floor((5 * of_year + 2) / 153)
  return of_year - math.floor((153 * month + 2) / 5) + 1
end

local function turn(per, now)
  local day = math.floor(now / DAY)
  if per == 'month' then
    local first = day - day_of_month(day) + 1
    local beyond = first + 31
    return first * DAY, (beyond - day_of_month(beyond) + 1) * DAY
  end
  local shift = per == 'week' and 3 * DAY or 0
  local start = now - (now + shift) % LENGTHS[per]
  return start, start + LENGTHS[per]
end

-- The slots from since to last count. Slots of a rolling window may be in the future, where a clock
-- that jumped back has left them; for at most one length, so that none locks a client out for ever.
local function window(rolling, per, now)
  if rolling == '1' then
    local width = LENGTHS[per] / SLOTS
    local slot = math.floor(now / width)
    return {since = slot - SLOTS, slot = slot, last = slot + SLOTS, ends = function(each)
      return (each + SLOTS + 1) * width
    end}
  end
  local start, last = turn(per, now)
  return {since = start, slot = start, last = start, ends = function() return last end}
end

local function whole(number) return string.format('%.0f', number) end

-- Old slots are kept, because a clock that jumps forward may jump back; the farthest go first. A
-- counter expires by itself long after its last use.
local KEPT, UNUSED = 2 * SLOTS, 400 * DAY
local function add(counter, span, slot, amount)
  redis.call('HINCRBY', counter, whole(slot), whole(amount))
  redis.call('PEXPIRE', counter, whole(UNUSED))
  if redis.call('HLEN', counter) <= KEPT then return end
  local farthest, distance = nil, -1
  for _, each in ipairs(redis.call('HKEYS', counter)) do
    local away = math.abs(tonumber(each) - span.slot)
    if away > distance then farthest, distance = each, away end
  end
  redis.call('HDEL', counter, farthest)
end

-- A reservation, or the mark that a request is settled, is kept so long for a late answer.
local LATE = 35 * DAY
