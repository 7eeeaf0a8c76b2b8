import { expect, test } from "vitest";
import { type Priority, type SlotRequest, WorkerSlots } from "./worker-slots.ts";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Waits for more turns of the event loop than a test has slots: one request starts in each. */
async function settled(): Promise<void> {
  for (let turns = 0; turns < 20; turns++) await turn();
}

/** Requests slots by name, and records which request started when. */
class Requests {
  readonly started: string[] = [];
  readonly #slots: WorkerSlots;
  readonly #requests = new Map<string, SlotRequest>();

  constructor(slots: WorkerSlots) {
    this.#slots = slots;
  }

  add(name: string, source: string, priority: Priority = "normal"): void {
    const request: SlotRequest = { source, priority, start: () => this.started.push(name) };
    this.#requests.set(name, request);
    this.#slots.request(request);
  }

  cancel(name: string): void {
    this.#slots.cancel(this.#named(name));
  }

  async release(name: string): Promise<void> {
    await settled();
    this.#slots.release(this.#named(name));
    await settled();
  }

  #named(name: string): SlotRequest {
    const request = this.#requests.get(name);
    if (request === undefined) throw new Error(`there is no request ${name}`);
    return request;
  }
}

test("a request starts after the call, and only while a slot is free", async () => {
  const slots = new WorkerSlots(2);
  const requests = new Requests(slots);
  for (const name of ["a", "b", "c"]) requests.add(name, "x");
  expect(requests.started).toEqual([]);
  await settled();
  expect(requests.started).toEqual(["a", "b"]);
  expect(slots).toMatchObject({ running: 2, waiting: 1 });
  await requests.release("a");
  expect(requests.started).toEqual(["a", "b", "c"]);
});

test("sources take turns, however many requests one of them has", async () => {
  const requests = new Requests(new WorkerSlots(1));
  for (let index = 0; index < 1000; index++) requests.add(`many-${index}`, "many");
  requests.add("one", "other");
  await requests.release("many-0");
  await requests.release("one");
  expect(requests.started).toEqual(["many-0", "one", "many-1"]);
});

test("failing requests wait for normal ones, and are not starved", async () => {
  const requests = new Requests(new WorkerSlots(1));
  requests.add("failing", "x", "failing");
  for (let index = 0; index < 20; index++) requests.add(`normal-${index}`, "x");
  await settled();
  for (let turn = 0; turn < 20; turn++) await requests.release(requests.started.at(-1) ?? "");
  expect(requests.started[0]).toBe("normal-0");
  expect(requests.started.indexOf("failing")).toBeGreaterThan(1);
  expect(requests.started.indexOf("failing")).toBeLessThan(10);
});

test("slow requests get a part of the slots only, even if the others are free", async () => {
  const slots = new WorkerSlots(16);
  const requests = new Requests(slots);
  for (let index = 0; index < 100; index++) requests.add(`slow-${index}`, "x", "slow");
  await settled();
  expect(slots.running).toBe(2);
  for (let index = 0; index < 14; index++) requests.add(`normal-${index}`, "x");
  await settled();
  expect(requests.started).toHaveLength(16);
  await requests.release("slow-0");
  expect(requests.started.at(-1)).toBe("slow-2");
});

test("a cancelled request does not start", async () => {
  const slots = new WorkerSlots(1);
  const requests = new Requests(slots);
  for (const name of ["a", "b", "c"]) requests.add(name, "x");
  await settled();
  requests.cancel("b");
  await requests.release("a");
  await requests.release("c");
  expect(requests.started).toEqual(["a", "c"]);
  expect(slots).toMatchObject({ running: 0, waiting: 0 });
});

test("reconciles that hang lend their slots, so that other sources continue; at most twice the slots run", async () => {
  const slots = new WorkerSlots(2, 20);
  const requests = new Requests(slots);
  for (const name of ["hang-1", "hang-2", "hang-3", "hang-4", "hang-5"]) requests.add(name, "hanging");
  requests.add("other-1", "other");
  await expect.poll(() => requests.started).toContain("other-1");
  await expect.poll(() => slots.running).toBe(4);
  await requests.release("other-1");
  expect(slots.running).toBe(4);
  requests.add("other-2", "other");
  await requests.release("hang-1");
  // The next one starts when another has run for long enough to lend its slot.
  await expect.poll(() => requests.started).toHaveLength(6);
  expect(slots.running).toBe(4);
});

test("a request without a free slot reports how long nothing has moved", async () => {
  const slots = new WorkerSlots(1, 3_600_000);
  const requests = new Requests(slots);
  requests.add("a", "x");
  await settled();
  expect(slots.stuckMs).toBe(0);
  requests.add("b", "x");
  await expect.poll(() => slots.stuckMs).toBeGreaterThan(10);
  await requests.release("a");
  expect(slots.stuckMs).toBe(0);
});

test("one request starts in a turn of the event loop, also if requests end at once, so that timers and sockets get turns", async () => {
  const slots = new WorkerSlots(32);
  let turns = 0;
  const startedIn: number[] = [];
  for (let index = 0; index < 1_000; index++) {
    const request: SlotRequest = {
      source: "x",
      priority: "normal",
      start: () => {
        startedIn.push(turns);
        queueMicrotask(() => slots.release(request));
      },
    };
    slots.request(request);
  }
  while (startedIn.length < 1_000) {
    await turn();
    turns++;
  }
  expect(new Set(startedIn).size).toBe(1_000);
});
