--[[ The ledger: every change of a unit of work is one call of this script, so it happens whole or not at all.

Keys (P is the settable prefix, "taquin:" by default; all times are milliseconds by this server's clock):

  P work:<id>   hash, one unit of work
                kind      what to do: validate | repair; or message: bytes from a queue that are no task, always dead
                queue     interactive | bulk
                payload   the request, as it was submitted
                state     waiting -> running -> done, or dead
                attempts  how often it was begun, less what was handed back in order
                returns   how often it was handed back in order, which costs no attempt (up to a limit)
                seq       its place among what was sent on its queue; 0 after a failure: its message is used up
                sends     how often its message was sent
                run       the token of the attempt that holds it, <holder>:<attempt>; absent unless running
                error     what the last failed attempt said
                answer    once done
                cause     once dead
                cut       of a message: 1 if it was longer than what is kept, so that it cannot be sent again
                watchers  channels to tell when it is settled, separated by spaces
                created begun finished died
  P due         sorted set: id -> when to look at it again (nobody began it, or its lease is over)
  P dead        sorted set: id -> when it died
  P queues      hash: <queue>:sent, the last seq given; <queue>:begun, the highest seq begun of what was sent once
  P sweeper     string: who sweeps at present; expires
  P full        string: there while a sweeper finds Redis nearly full; expires

Call: KEYS = due, dead, queues; ARGV = prefix, most events kept, verb, and what the verb takes. Every verb may
be repeated with the same arguments after a lost reply. KEYS of single units follow from the prefix: this is
no script for Redis Cluster, which carries no Celery either.
--]]

local due, dead, queues = KEYS[1], KEYS[2], KEYS[3]
local prefix, events_most = ARGV[1], ARGV[2]
local verbs, jobs, pools = {}, {}, {}
local event -- see jobs.lua

local function work(id)
  return prefix .. 'work:' .. id
end

local function number(value)
  return string.format('%.0f', value)
end

-- A field that somebody deleted by hand counts as 0, and stops nobody's sweep.
local function int(value)
  return tonumber(value) or 0
end

local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)

local function get(id, ...)
  return redis.call('HMGET', work(id), ...)
end

-- Tell whoever waits; a subscriber that is away reads the state when it comes back.
local function tell(key, id)
  local watchers = redis.call('HGET', key, 'watchers')
  if watchers then
    for channel in string.gmatch(watchers, '%S+') do
      redis.call('PUBLISH', channel, id)
    end
  end
end

-- Have a channel told of what becomes of a unit or a job.
local function watch(key, channel)
  local fields = redis.call('HMGET', key, 'state', 'watchers')
  local state, watchers = fields[1], fields[2] or ''
  if not state then
    return 'gone'
  end
  local settled = state == 'done' or state == 'dead' or state == 'complete' or state == 'cancelled'
  if not settled and not string.find(' ' .. watchers, ' ' .. channel .. ' ', 1, true) then
    -- A full Redis takes no watcher, which is no reason to end a wait: whoever waits reads again by itself.
    redis.pcall('HSET', key, 'watchers', watchers .. channel .. ' ')
  end
  return state
end

local function bury(id, cause)
  redis.call('HSET', work(id), 'state', 'dead', 'cause', cause, 'died', number(now))
  redis.call('HDEL', work(id), 'run')
  redis.call('ZREM', due, id)
  redis.call('ZADD', dead, number(now), id)
  local chunk = get(id, 'job', 'boards')
  event('task.dead', 'id', id, 'cause', cause, 'job', chunk[1] or '')
  if chunk[1] then
    jobs.buried(chunk[1], chunk[2])
  end
  tell(work(id), id)
end

local function bury_stopped(id, attempts)
  bury(id, 'its worker died, hung or was stopped in each of ' .. attempts .. ' attempts')
end

-- Its message is used up: a sweeper sends another after the pause.
local function wait_again(id, pause)
  redis.call('HSET', work(id), 'state', 'waiting', 'seq', 0)
  redis.call('HDEL', work(id), 'run')
  redis.call('ZADD', due, number(now + int(pause)), id)
end

-- A message for this unit is about to go to the end of its queue.
local function note_sent(id, queue, again)
  local seq = redis.call('HINCRBY', queues, queue .. ':sent', 1)
  redis.call('HSET', work(id), 'seq', seq)
  redis.call('HINCRBY', work(id), 'sends', 1)
  redis.call('ZADD', due, number(now + again), id)
end

-- Whether new work is to be refused: too much of it waits, or Redis needs the room it has to finish what it has.
local function overload(most)
  if redis.call('ZCARD', due) >= int(most) then
    return 'busy'
  end
  return redis.call('EXISTS', prefix .. 'full') == 1 and 'full' or nil
end

-- Nine tenths of maxmemory: looked for at each sweep, since a submission has no time for it.
local function look_at_memory(turn)
  local info = redis.pcall('INFO', 'memory')
  if type(info) == 'string' then
    local most, used = int(string.match(info, 'maxmemory:(%d+)')), int(string.match(info, 'used_memory:(%d+)'))
    if most > 0 and used > 0.9 * most then
      redis.call('SET', prefix .. 'full', used, 'PX', turn)
    else
      redis.call('DEL', prefix .. 'full')
    end
  end
end

-- id, kind, queue, payload, milliseconds until it is sent again, most units waiting
-- -> new | same | conflict | busy | full
function verbs.submit(id, kind, queue, payload, again, most)
  local known = get(id, 'kind', 'payload')
  if known[1] then
    return (known[1] == kind and known[2] == payload) and 'same' or 'conflict'
  end
  local refused = overload(most)
  if refused then
    return refused
  end
  redis.call('HSET', work(id), 'kind', kind, 'queue', queue, 'payload', payload,
    'state', 'waiting', 'attempts', 0, 'created', number(now))
  note_sent(id, queue, int(again))
  return 'new'
end

-- id, token, lease in milliseconds of each queue's work (interactive, bulk), most attempts
-- -> {run, kind, payload, attempt, and of a chunk the job's request, its boards and its stamp}
--    | {gone} | {done} | {dead} | {leased}
function verbs.begin(id, token, lease_interactive, lease_bulk, most)
  local unit = get(id, 'state', 'kind', 'payload', 'attempts', 'queue', 'seq', 'run', 'job', 'boards', 'sends', 'stamp')
  local state, kind, payload, attempts, queue, seq, run, job, boards, sends, stamp = unpack(unit, 1, 11)
  if not state then
    return {'gone'}
  end
  local asked = job and jobs.asked(job)
  if job and not asked and state ~= 'dead' then
    jobs.forget(id)
    return {'gone'}
  end
  if state == 'done' or state == 'dead' then
    return {state}
  end
  if state == 'running' then
    if run == token then
      return {'run', kind, payload, int(attempts), asked or '', int(boards), stamp or ''}
    end
    -- The lease is an exclusive right: a broken connection has the broker deliver again what is still being done.
    if int(redis.call('ZSCORE', due, id)) > now then
      return {'leased'}
    end
  end
  if int(attempts) >= int(most) then
    bury_stopped(id, attempts)
    return {'dead'}
  end
  local lease = queue == 'bulk' and lease_bulk or lease_interactive
  attempts = redis.call('HINCRBY', work(id), 'attempts', 1)
  redis.call('HSET', work(id), 'state', 'running', 'run', token, 'begun', number(now))
  redis.call('ZADD', due, number(now + int(lease)), id)
  -- Of work that was sent again it is unknown which message this is: if it is the first, the last is far behind it.
  if int(sends) == 1 and int(seq) > int(redis.call('HGET', queues, queue .. ':begun')) then
    redis.call('HSET', queues, queue .. ':begun', seq)
  end
  return {'run', kind, payload, attempts, asked or '', int(boards), stamp or ''}
end

-- id, answer, milliseconds to keep it, and for a board that goes to a pool the pool and the record
-- -> kept | gone | done | dead
-- Whoever finishes first is kept: an answer is a pure function of the payload.
function verbs.finish(id, answer, keep, pool, record)
  local state = get(id, 'state')[1]
  if not state then
    return 'gone'
  end
  if state == 'done' or state == 'dead' then
    return state
  end
  redis.call('HSET', work(id), 'state', 'done', 'answer', answer, 'finished', number(now))
  redis.call('HDEL', work(id), 'run')
  redis.call('ZREM', due, id)
  redis.call('PEXPIRE', work(id), keep)
  if pool then
    pools.add(pool, record)
  end
  tell(work(id), id)
  return 'kept'
end

-- id, token, error, most attempts, milliseconds until the next attempt -> again | dead | lost
-- lost: the lease has passed on to somebody else, or the work is settled
function verbs.fail(id, token, error, most, pause)
  local unit = get(id, 'state', 'run', 'attempts')
  if unit[1] ~= 'running' or unit[2] ~= token then
    return 'lost'
  end
  redis.call('HSET', work(id), 'error', error)
  if int(unit[3]) >= int(most) then
    bury(id, 'it failed in each of ' .. unit[3] .. ' attempts')
    return 'dead'
  end
  wait_again(id, pause)
  return 'again'
end

-- id, holder, 1 if the attempt counts, most attempts, most returns, milliseconds until it is sent again
-- -> again | dead | lost
-- The holder's own word that nobody works on it any more. An attempt that ended because its worker was told to stop
-- does not count, within a limit: work that stops its worker would go round for ever.
function verbs.give_back(id, holder, counts, most, most_returns, pause)
  local unit = get(id, 'state', 'run', 'attempts', 'returns')
  local attempts = int(unit[3])
  if unit[1] ~= 'running' or string.sub(unit[2] or '', 1, #holder + 1) ~= holder .. ':' then
    return 'lost'
  end
  if counts ~= '1' and int(unit[4]) < int(most_returns) then
    redis.call('HINCRBY', work(id), 'returns', 1)
    attempts = redis.call('HINCRBY', work(id), 'attempts', -1)
  end
  if attempts >= int(most) then
    bury_stopped(id, attempts)
    return 'dead'
  end
  wait_again(id, pause)
  return 'again'
end

-- id, queue, payload, 1 if it was cut, cause, most dead letters -> kept | full
-- Bytes that are no task become a dead letter at once.
function verbs.keep(id, queue, payload, cut, cause, most)
  if redis.call('ZCARD', dead) >= int(most) then
    return 'full'
  end
  redis.call('HSET', work(id), 'kind', 'message', 'queue', queue, 'payload', payload, 'cut', cut,
    'attempts', 0, 'created', number(now))
  bury(id, cause)
  return 'kept'
end

-- token, milliseconds of its turn, most units looked at, most attempts, milliseconds until a unit is sent again
-- -> {busy} if another sweeps, else {swept, units looked at, id, queue, id, queue, …}: messages to be sent
function verbs.sweep(token, turn, most_units, most, again)
  local sweeper = prefix .. 'sweeper'
  local holder = redis.call('GET', sweeper)
  if holder and holder ~= token then
    return {'busy'}
  end
  redis.call('SET', sweeper, token, 'PX', turn)
  look_at_memory(turn)
  local late = redis.call('ZRANGEBYSCORE', due, '-inf', number(now), 'LIMIT', 0, most_units)
  local out = {'swept', #late}
  for _, id in ipairs(late) do
    local unit = get(id, 'state', 'attempts', 'queue', 'seq', 'sends')
    local state, attempts, queue, seq, sends = unpack(unit, 1, 5)
    if state == 'running' and int(attempts) >= int(most) then
      bury_stopped(id, attempts)
    elseif state == 'running' or state == 'waiting' then
      if state == 'running' then
        redis.call('HSET', work(id), 'state', 'waiting')
        redis.call('HDEL', work(id), 'run')
        seq = 0
      end
      -- Its message is lost for certain only when later ones of its queue were begun, or none is left;
      -- until then it still stands in line, and a second message would only lengthen the line.
      local behind = int(seq) - int(redis.call('HGET', queues, queue .. ':begun'))
      local pause = int(again) * math.min(2 ^ math.min(int(sends), 10), 32)
      if behind <= 0 or redis.call('LLEN', queue) == 0 then
        note_sent(id, queue, pause)
        out[#out + 1] = id
        out[#out + 1] = queue
      else
        -- At a thousand a second a line is as long in milliseconds as in units: looking earlier would be for nothing,
        -- and the sweeps must have time for what is not in line.
        redis.call('ZADD', due, number(now + math.max(int(again), behind)), id)
      end
    else
      redis.call('ZREM', due, id)
    end
  end
  return out
end

-- id, channel -> state, or gone; the channel is told when the unit is settled
function verbs.watch(id, channel)
  return watch(work(id), channel)
end

-- id -> retried | expired (the job of this chunk is gone) | cut | gone | the state it is in
-- The count of attempts starts anew; a message goes back to its queue as it came.
function verbs.retry(id)
  local unit = get(id, 'state', 'job', 'boards', 'kind', 'queue', 'payload', 'cut')
  local state, kind, queue, payload, cut = unit[1], unpack(unit, 4, 7)
  if state ~= 'dead' then
    return state or 'gone'
  end
  if kind == 'message' then
    if cut == '1' then
      return 'cut'
    end
    redis.call('LPUSH', queue, payload)
    redis.call('ZREM', dead, id)
    redis.call('DEL', work(id))
    return 'retried'
  end
  if unit[2] and not jobs.revived(unit[2], unit[3]) then
    return 'expired'
  end
  redis.call('HSET', work(id), 'state', 'waiting', 'attempts', 0, 'returns', 0, 'seq', 0, 'sends', 0)
  redis.call('HDEL', work(id), 'cause', 'died')
  redis.call('ZREM', dead, id)
  redis.call('ZADD', due, number(now), id)
  return 'retried'
end

-- id -> dropped | gone | the state it is in
function verbs.drop(id)
  local state = get(id, 'state')[1]
  if state and state ~= 'dead' then
    return state
  end
  local listed = redis.call('ZREM', dead, id)
  redis.call('DEL', work(id))
  return (state or listed == 1) and 'dropped' or 'gone'
end
