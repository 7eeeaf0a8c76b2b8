import { expect, onTestFinished, test, vi } from "vitest";
import { RunnerGrpcError } from "../wire/runner-grpc-error.ts";
import { Admission } from "./admission.ts";

const never = new AbortController().signal;

test("calls wait for a run to end, in order", async () => {
  const admission = new Admission({ maxConcurrent: 1, maxQueued: 3 });
  const order: number[] = [];
  const free = await admission.admit().slot(never);
  const waiting = [1, 2, 3].map(async (number) => {
    const done = await admission.admit().slot(never);
    order.push(number);
    done();
  });
  expect(admission.counts).toEqual({ running: 1, waiting: 3 });
  free();
  await Promise.all(waiting);
  expect(order).toEqual([1, 2, 3]);
  expect(admission.counts).toEqual({ running: 0, waiting: 0 });
});

test("a queue that was empty keeps its order, also without calls that were aborted", async () => {
  const admission = new Admission({ maxConcurrent: 1, maxQueued: 8 });
  const order: number[] = [];
  const enter = async (number: number, signal = never): Promise<void> => {
    const done = await admission.admit().slot(signal);
    order.push(number);
    done();
  };
  for (const round of [0, 10]) {
    const free = await admission.admit().slot(never);
    const aborter = new AbortController();
    const waiting = [enter(round + 1), enter(round + 2, aborter.signal), enter(round + 3)];
    aborter.abort();
    free();
    await Promise.allSettled(waiting);
  }
  expect(order).toEqual([1, 3, 11, 13]);
  expect(admission.counts).toEqual({ running: 0, waiting: 0 });
});

test("a call that leaves admits another; leaving or ending twice counts once", async () => {
  const admission = new Admission({ maxConcurrent: 1, maxQueued: 1 });
  const [first, second] = [admission.admit(), admission.admit()];
  expect(() => admission.admit()).toThrow(expect.objectContaining({ code: "QueueFull" }));
  second.leave();
  second.leave();
  const third = admission.admit();
  expect(() => admission.admit()).toThrow(expect.objectContaining({ code: "QueueFull" }));
  const free = await first.slot(never);
  free();
  free();
  await third.slot(never);
  expect(admission.counts).toEqual({ running: 1, waiting: 0 });
});

test("a run that outlives its caller keeps its slot", async () => {
  const admission = new Admission({ maxConcurrent: 1, maxQueued: 1 });
  const ticket = admission.admit();
  await ticket.slot(never);
  ticket.leave();
  void admission.admit().slot(never);
  expect(admission.counts).toEqual({ running: 1, waiting: 1 });
});

test("a call that is aborted while it waits leaves the queue with the signal's reason", async () => {
  const admission = new Admission({ maxConcurrent: 1, maxQueued: 2 });
  const free = await admission.admit().slot(never);
  const aborter = new AbortController();
  const waiting = admission.admit().slot(aborter.signal);
  aborter.abort(new Error("enough"));
  await expect(waiting).rejects.toBe(aborter.signal.reason);
  free();
  expect(admission.counts).toEqual({ running: 0, waiting: 0 });
  await expect(admission.admit().slot(AbortSignal.abort())).rejects.toMatchObject({ name: "AbortError" });
});

test("no run starts while callers have too many bytes of answers to receive", async () => {
  const admission = new Admission({ maxConcurrent: 2, maxQueued: 8, maxUnreceivedBytes: 10 });
  const answered = async (bytes: number): Promise<() => void> => {
    const ticket = admission.admit();
    const free = await ticket.slot(never);
    ticket.answer(bytes);
    free();
    return () => ticket.leave();
  };
  const receive = [await answered(5), await answered(6)];
  const aborter = new AbortController();
  const aborted = admission.admit().slot(aborter.signal);
  const waiting = [admission.admit().slot(never), admission.admit().slot(never), admission.admit().slot(never)];
  expect(admission.counts).toEqual({ running: 0, waiting: 4 });
  aborter.abort(new Error("enough"));
  await expect(aborted).rejects.toThrow("enough");
  receive[0]?.();
  receive[0]?.();
  await Promise.all(waiting.slice(0, 2));
  expect(admission.counts).toEqual({ running: 2, waiting: 1 });
});

test("an answer to a caller that has gone is not counted", async () => {
  const admission = new Admission({ maxConcurrent: 1, maxQueued: 1, maxUnreceivedBytes: 10 });
  const gone = admission.admit();
  const free = await gone.slot(never);
  gone.leave();
  gone.answer(100);
  free();
  await admission.admit().slot(never);
  expect(admission.counts).toEqual({ running: 1, waiting: 0 });
});

test("a full queue has room for a caller with fewer calls: the newest of the caller with most makes it", async () => {
  const admission = new Admission({ maxConcurrent: 1, maxQueued: 4 });
  const displaced: string[] = [];
  const started: string[] = [];
  const enter = (name: string): void => {
    const aborter = new AbortController();
    const ticket = admission.admit(name.slice(0, 1), undefined, (error) => {
      expect(error).toMatchObject({ code: "QueueFull", retryable: true, retryAfterMs: expect.any(Number) });
      displaced.push(name);
      aborter.abort(error);
    });
    const run = async (): Promise<void> => {
      const release = await ticket.slot(aborter.signal);
      started.push(name);
      release();
      ticket.leave();
    };
    run().catch(() => undefined);
  };
  const running = admission.admit("a");
  const free = await running.slot(never);
  for (const name of ["a1", "a2", "a3", "a4", "b1", "b2"]) enter(name);
  expect(displaced).toEqual(["a4", "a3"]);
  // A caller that has its share displaces no other call. Neither does the caller with the most calls.
  for (const name of ["b3", "a5"]) expect(() => enter(name)).toThrow(expect.objectContaining({ code: "QueueFull" }));
  enter("c1");
  expect(displaced).toEqual(["a4", "a3", "a2"]);
  expect(admission.counts).toEqual({ running: 1, waiting: 4 });
  free();
  running.leave();
  await expect.poll(() => started).toEqual(["a1", "b1", "c1", "b2"]);
  expect(admission.empty).toBe(true);
});

test("a call whose message is arriving is displaced too, but none that has a slot or an answer to receive", async () => {
  const admission = new Admission({ maxConcurrent: 1, maxQueued: 2 });
  const onDisplaced = vi.fn<(error: RunnerGrpcError) => void>();
  const answered = admission.admit("a", undefined, onDisplaced);
  (await answered.slot(never))();
  const running = admission.admit("a", undefined, onDisplaced);
  await running.slot(never);
  const arriving = admission.admit("a", undefined, onDisplaced);
  // Its only call is in the queue, so another caller cannot take its place.
  expect(() => admission.admit("b")).toThrow(expect.objectContaining({ code: "QueueFull" }));
  answered.leave();
  const newest = admission.admit("a", undefined, onDisplaced);
  admission.admit("b");
  expect(onDisplaced).toHaveBeenCalledOnce();
  newest.leave();
  expect(() => admission.admit("b")).toThrow(expect.objectContaining({ code: "QueueFull" }));
  arriving.leave();
  admission.admit("b");
});

test("the retry hint is bounded", () => {
  const admission = new Admission({ maxConcurrent: 1, maxQueued: 0 });
  admission.admit();
  try {
    admission.admit();
    expect.unreachable();
  } catch (error) {
    const { retryAfterMs = 0, retryable } = error as RunnerGrpcError;
    expect(retryAfterMs).toBeGreaterThanOrEqual(100);
    expect(retryAfterMs).toBeLessThanOrEqual(30_000);
    expect(retryable).toBe(true);
  }
});

test("a closed admission rejects every call with its reason", () => {
  const admission = new Admission({ maxConcurrent: 1, maxQueued: 0 });
  const reason = new RunnerGrpcError("Closed", "stopping");
  admission.close(reason);
  expect(() => admission.admit()).toThrow(reason);
});

test("messages of waiting calls take bounded memory, and a call over the bound can try again", async () => {
  const admission = new Admission({ maxConcurrent: 1, maxQueued: 8, maxQueuedBytes: 100 });
  const admit = (bytes: number): ReturnType<Admission["admit"]> => {
    const ticket = admission.admit();
    ticket.input(bytes);
    return ticket;
  };
  // The first call takes a free slot, and the second one waits alone.
  const running = admit(1_000);
  const free = await running.slot(never);
  running.input(1_000);
  const alone = admit(1_000);
  alone.leave();
  const waiting = admit(60);
  const second = admit(30);
  const refused = admission.admit();
  refused.input(10);
  expect(() => refused.input(1)).toThrow(
    expect.objectContaining({
      code: "QueueFull",
      retryable: true,
      message: expect.stringMatching(
        /^the runner is full: it accepts 100 bytes of messages of waiting calls; try again/,
      ),
    }),
  );
  // The limit also applies to the calls that were admitted first.
  expect(() => waiting.input(1)).toThrow(expect.objectContaining({ code: "QueueFull" }));
  refused.leave();
  second.input(10);
  // A call that gets a slot, and a call that leaves, both free memory.
  const started = waiting.slot(never);
  free();
  await started;
  admit(60);
  expect(() => admit(1)).toThrow(expect.objectContaining({ code: "QueueFull" }));
  second.leave();
  second.leave();
  admit(40);
});

test("messages of a caller that take the most memory make room for those of others", async () => {
  const admission = new Admission({ maxConcurrent: 1, maxQueued: 16, maxQueuedBytes: 100 });
  const displaced: string[] = [];
  const enter = (name: string, bytes: number): void =>
    admission.admit(name.slice(0, 1), undefined, () => displaced.push(name)).input(bytes);
  await admission.admit("a").slot(never);
  for (const name of ["a1", "a2", "a3"]) enter(name, 30);
  // A call without a message yet takes no memory, so it is not displaced.
  admission.admit("a", undefined, () => displaced.push("empty"));
  enter("b1", 30);
  expect(displaced).toEqual(["a3"]);
  enter("b2", 10);
  // Then a would take less than b.
  expect(() => enter("b3", 31)).toThrow(expect.objectContaining({ code: "QueueFull" }));
  enter("c1", 20);
  expect(displaced).toEqual(["a3", "a2"]);
});

test("one message above the bound waits, and keeps no small messages of others out", async () => {
  const admission = new Admission({ maxConcurrent: 1, maxQueued: 16, maxQueuedBytes: 100 });
  await admission.admit("a").slot(never);
  const large = admission.admit("a");
  large.input(1_000);
  admission.admit("b").input(60);
  expect(() => admission.admit("a").input(1_000)).toThrow(expect.objectContaining({ code: "QueueFull" }));
  expect(() => admission.admit("c").input(101)).toThrow(expect.objectContaining({ code: "QueueFull" }));
  admission.admit("c").input(40);
  large.input(0);
});

test("a message of any size is accepted as long as slots are free", () => {
  const admission = new Admission({ maxConcurrent: 2, maxQueued: 8, maxQueuedBytes: 100 });
  for (const bytes of [1_000, 1_000]) admission.admit().input(bytes);
  expect(() => admission.admit().input(1)).toThrow(expect.objectContaining({ code: "QueueFull" }));
});

test("a call that would start after its deadline is refused at once, with the queue and a time to wait", async () => {
  vi.useFakeTimers({ toFake: ["Date", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const admission = new Admission({ maxConcurrent: 2, maxQueued: 64 });
  const run = async (ms: number): Promise<void> => {
    const free = await admission.admit().slot(never);
    vi.advanceTimersByTime(ms);
    free();
  };
  const wait = (caller: string, timeoutMs: number): Promise<unknown> =>
    admission.admit(caller, Date.now() + timeoutMs).slot(never);
  // A run that pulls an image takes longer than the others, and does not affect the estimate.
  for (const ms of [60_000, 4_000, 5_000]) await run(ms);
  for (let slot = 0; slot < 2; slot++) await admission.admit().slot(never);
  for (let call = 0; call < 6; call++) void wait("a", 65_000);
  // Six calls wait before it, in three rounds of 4 s.
  await expect(wait("a", 11_999)).rejects.toMatchObject({
    code: "QueueFull",
    retryable: true,
    retryAfterMs: expect.any(Number),
    message: expect.stringMatching(
      /deadline: 6 calls wait before this one, at least 4000 ms each; try again in \d+ ms/,
    ),
  });
  void wait("a", 12_000);
  // The turn of another caller comes after one call.
  void wait("b", 1);
  expect(admission.counts).toEqual({ running: 2, waiting: 8 });
});

test("no call is refused for its deadline before a run has ended", async () => {
  const admission = new Admission({ maxConcurrent: 1, maxQueued: 64 });
  const ended = [await admission.admit().slot(never)];
  for (let call = 0; call < 9; call++)
    void admission
      .admit("", Date.now() + 1)
      .slot(never)
      .then((free) => ended.push(free));
  expect(admission.counts).toEqual({ running: 1, waiting: 9 });
});
