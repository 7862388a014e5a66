--[[ Jobs: many boards submitted as one. A chunk is a unit of work like any other (see ledger.lua), with two fields more:

  P work:<job>:<k>      … job     the job it belongs to
                          boards  how many boards it holds
                          stamp   a number that no other chunk has or had: a key may be used again for other boards

  P job:<id>            hash, one job
                        request   what was asked, JSON
                        state     open (chunks may be added) -> sealed -> complete, or cancelled
                        chunks boards              what was added
                        committed                  chunks that are done or dead
                        solvable unsolvable repaired invalid dead   boards by their outcome
                        pooled                     boards that are new in a pool
                        keep                       milliseconds to keep it once it is complete or cancelled
                        watchers                   channels to tell when a chunk is committed
                        announced                  the event of its completion is written
                        created finished
  P answers:<job>       hash: k -> the answer to chunk k (docs/reference/packed.md)
  P chunks:<job>        hash: k -> the boards in chunk k, and a digest, so that a submission may be repeated
  P notes:<job>         hash: k -> what was wrong with lines that are no boards at all, JSON
  P jobs                sorted set: id -> when it was created
  P events              stream of what backends may want to know

A chunk that is committed has no `work` key any more: a late duplicate finds nothing to do.
--]]

local function job_key(job)
  return prefix .. 'job:' .. job
end

function event(name, ...)
  redis.call('XADD', prefix .. 'events', 'MAXLEN', '~', events_most, '*', 'event', name, ...)
end

local JOB_KEYS = {'job:', 'answers:', 'chunks:', 'notes:'}
local ABANDONED = 7 * 24 * 3600 * 1000 -- a job that is still open so long after its last chunk has lost its client

local function expire_job(job, keep)
  for _, name in ipairs(JOB_KEYS) do
    redis.call('PEXPIRE', prefix .. name .. job, keep or redis.call('HGET', job_key(job), 'keep'))
  end
end

local function persist_job(job)
  for _, name in ipairs(JOB_KEYS) do
    redis.call('PERSIST', prefix .. name .. job)
  end
end

local function tell_job(job)
  tell(job_key(job), job)
end

local function settle_job(job)
  local key = job_key(job)
  local fields = redis.call('HMGET', key, 'state', 'chunks', 'committed')
  if fields[1] ~= 'sealed' or int(fields[3]) < int(fields[2]) then
    return
  end
  redis.call('HSET', key, 'state', 'complete', 'finished', number(now))
  if redis.call('HSETNX', key, 'announced', 1) == 1 then
    local counts = redis.call('HMGET', key, 'boards', 'solvable', 'unsolvable', 'repaired', 'invalid', 'dead')
    event('job.completed', 'job', job, 'boards', counts[1], 'solvable', counts[2], 'unsolvable', counts[3],
      'repaired', counts[4], 'invalid', counts[5], 'dead', counts[6])
  end
  expire_job(job)
end

-- What the ledger calls when a chunk is begun: the request, or nothing if the job has expired or was cancelled.
function jobs.asked(job)
  local fields = redis.call('HMGET', job_key(job), 'request', 'state')
  return fields[2] ~= 'cancelled' and fields[1]
end

function jobs.buried(job, boards)
  if redis.call('EXISTS', job_key(job)) == 1 then
    redis.call('HINCRBY', job_key(job), 'dead', boards)
    redis.call('HINCRBY', job_key(job), 'committed', 1)
    settle_job(job)
    tell_job(job)
  end
end

-- false if the job has expired
function jobs.revived(job, boards)
  local key = job_key(job)
  local state = redis.call('HGET', key, 'state')
  if not state or state == 'cancelled' then
    return false
  end
  redis.call('HINCRBY', key, 'dead', -boards)
  redis.call('HINCRBY', key, 'committed', -1)
  if state == 'complete' then
    redis.call('HSET', key, 'state', 'sealed')
    redis.call('HDEL', key, 'finished')
    persist_job(job)
  end
  return true
end

-- Write one chunk down; `again` is when a sweeper sends it for the first time if nobody else does.
function jobs.write_chunk(job, k, boards, payload, digest, again)
  local id = job .. ':' .. k
  redis.call('HSET', prefix .. 'chunks:' .. job, k, boards .. ' ' .. digest)
  -- A dead letter may be left of an earlier job of this name.
  redis.call('DEL', work(id))
  redis.call('ZREM', dead, id)
  local stamp = redis.call('HINCRBY', queues, 'bulk:written', 1)
  redis.call('HSET', work(id), 'kind', 'chunk', 'queue', 'bulk', 'payload', payload, 'job', job, 'boards', boards,
    'stamp', stamp, 'state', 'waiting', 'attempts', 0, 'created', number(now))
  redis.call('HINCRBY', job_key(job), 'chunks', 1)
  redis.call('HINCRBY', job_key(job), 'boards', boards)
  note_sent(id, 'bulk', again)
end

function jobs.open(job, request, keep, state)
  redis.call('HSET', job_key(job), 'request', request, 'state', state, 'chunks', 0, 'boards', 0, 'committed', 0,
    'solvable', 0, 'unsolvable', 0, 'repaired', 0, 'invalid', 0, 'dead', 0, 'pooled', 0,
    'keep', keep, 'created', number(now))
  -- Of an earlier job of this name a part may be left, where keys were deleted or evicted.
  for _, name in ipairs({'answers:', 'chunks:', 'notes:'}) do
    redis.call('DEL', prefix .. name .. job)
  end
  redis.call('ZADD', prefix .. 'jobs', number(now), job)
  -- Where nobody lists the jobs, their list grows no longer than they are kept.
  for _, old in ipairs(redis.call('ZRANGE', prefix .. 'jobs', 0, 9)) do
    if redis.call('EXISTS', job_key(old)) == 0 then
      redis.call('ZREM', prefix .. 'jobs', old)
    end
  end
end

-- job, request, milliseconds to keep it -> new | same | conflict
function verbs.open(job, request, keep)
  local known = redis.call('HGET', job_key(job), 'request')
  if known then
    return known == request and 'same' or 'conflict'
  end
  jobs.open(job, request, keep, 'open')
  expire_job(job, ABANDONED)
  return 'new'
end

-- job, k, boards in it, payload, its digest, notes or '', milliseconds until it is sent again, most units waiting
-- -> new | same | conflict | busy | full | gone | sealed | cancelled
function verbs.add(job, k, boards, payload, digest, notes, again, most)
  local state = redis.call('HGET', job_key(job), 'state')
  if not state or state == 'cancelled' then
    return state or 'gone'
  end
  local known = redis.call('HGET', prefix .. 'chunks:' .. job, k)
  if known then
    return known == boards .. ' ' .. digest and 'same' or 'conflict'
  end
  if state ~= 'open' then
    return 'sealed'
  end
  local refused = overload(most)
  if not refused then
    if notes ~= '' then
      redis.call('HSET', prefix .. 'notes:' .. job, k, notes)
    end
    jobs.write_chunk(job, k, boards, payload, digest, tonumber(again))
  end
  expire_job(job, ABANDONED)
  return refused or 'new'
end

-- job, chunks and boards that were added -> sealed | same | conflict | gone | cancelled
function verbs.seal(job, chunks, boards)
  local fields = redis.call('HMGET', job_key(job), 'state', 'chunks', 'boards')
  local state = fields[1]
  if not state or state == 'cancelled' then
    return state or 'gone'
  end
  if fields[2] ~= chunks or fields[3] ~= boards then
    return 'conflict'
  end
  if state ~= 'open' then
    return 'same'
  end
  redis.call('HSET', job_key(job), 'state', 'sealed')
  persist_job(job)
  settle_job(job)
  tell_job(job)
  return 'sealed'
end

-- id of the chunk, its stamp or '' for any, answer, boards by outcome, then (pool, records a line each) as often as needed
-- -> kept | gone | dead
-- Everything that follows from a chunk happens here, once: a second commit finds no unit.
function verbs.commit(id, begun, answer, solvable, unsolvable, repaired, invalid, ...)
  local unit = get(id, 'state', 'job', 'stamp')
  local state, job, stamp = unpack(unit, 1, 3)
  if not state or state == 'dead' then
    return state or 'gone'
  end
  if begun ~= '' and begun ~= stamp then
    return 'gone'
  end
  if not jobs.asked(job) then
    jobs.forget(id)
    return 'gone'
  end
  local key = job_key(job)
  redis.call('HSET', prefix .. 'answers:' .. job, string.sub(id, #job + 2), answer)
  redis.call('HINCRBY', key, 'committed', 1)
  redis.call('HINCRBY', key, 'solvable', solvable)
  redis.call('HINCRBY', key, 'unsolvable', unsolvable)
  redis.call('HINCRBY', key, 'repaired', repaired)
  redis.call('HINCRBY', key, 'invalid', invalid)
  jobs.forget(id)
  local filled = {...}
  for at = 1, #filled, 2 do
    redis.call('HINCRBY', key, 'pooled', pools.add(filled[at], filled[at + 1]))
  end
  if redis.call('HGET', key, 'state') == 'open' then
    expire_job(job, ABANDONED)
  else
    settle_job(job)
  end
  tell_job(job)
  return 'kept'
end

function jobs.forget(id)
  redis.call('DEL', work(id))
  redis.call('ZREM', due, id)
end

local function forget_chunks(job)
  for k = 0, int(redis.call('HGET', job_key(job), 'chunks')) - 1 do
    local id = job .. ':' .. number(k)
    if redis.call('HGET', work(id), 'state') ~= 'dead' then
      jobs.forget(id)
    end
  end
end

-- job -> cancelled | gone | the state it is in
function verbs.cancel(job)
  local key = job_key(job)
  local state = redis.call('HGET', key, 'state')
  if state ~= 'open' and state ~= 'sealed' then
    return state or 'gone'
  end
  -- First what needs no memory: a full Redis is emptied by this.
  forget_chunks(job)
  redis.call('HSET', key, 'state', 'cancelled', 'finished', number(now))
  event('job.cancelled', 'job', job)
  expire_job(job)
  tell_job(job)
  return 'cancelled'
end

-- job -> discarded | gone | the state it is in
-- A submission whose source turned out to be wrong never was a job.
function verbs.discard(job)
  local state = redis.call('HGET', job_key(job), 'state')
  if state ~= 'open' then
    return state or 'gone'
  end
  forget_chunks(job)
  for _, name in ipairs(JOB_KEYS) do
    redis.call('DEL', prefix .. name .. job)
  end
  redis.call('ZREM', prefix .. 'jobs', job)
  return 'discarded'
end

-- job, channel -> state, or gone; the channel is told of each chunk and of the end
function verbs.watch_job(job, channel)
  return watch(job_key(job), channel)
end
