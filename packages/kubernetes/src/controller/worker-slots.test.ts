import { expect, test } from "vitest";
import { type Priority, type SlotRequest, WorkerSlots } from "./worker-slots.ts";

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

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
