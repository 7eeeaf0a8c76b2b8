import type { FunctionCaller, FunctionRequest } from "@xfn/function-grpc";
import type { OpenFunction } from "@xfn/pipeline/packages";
import { expect, test } from "vitest";
import { type FreshCaller, freshCaller } from "./fresh-caller.ts";

const REQUEST: FunctionRequest = { observed: { resources: new Map() }, desired: { resources: new Map() } };

/** Opens servers of which each call fails, and records what happens to them. */
function opening(): { caller: FreshCaller; events: string[] } {
  const events: string[] = [];
  const open = async (): Promise<OpenFunction> => {
    const number = events.filter((event) => event.startsWith("open")).length + 1;
    events.push(`open ${number}`);
    const run: FunctionCaller["run"] = async () => {
      events.push(`call ${number}`);
      return await Promise.reject(new Error("it fails"));
    };
    return await Promise.resolve({ caller: { run }, close: () => void events.push(`close ${number}`) });
  };
  return { caller: freshCaller(open), events };
}

test("each call has a server of its own, which ends although the call fails; the first is started ahead", async () => {
  const { caller, events } = opening();
  await caller.prepare();
  expect(events).toEqual(["open 1"]);
  for (let count = 0; count < 2; count++)
    await expect(caller.run(REQUEST, { timeoutMs: 1 })).rejects.toThrow("it fails");
  expect(events).toEqual(["open 1", "call 1", "close 1", "open 2", "call 2", "close 2"]);
});

test("closing ends a server that waits for a call, and one that starts", async () => {
  const { caller, events } = opening();
  await caller.prepare();
  caller.close();
  expect(events).toEqual(["open 1", "close 1"]);
  const starting = opening();
  const prepared = starting.caller.prepare();
  starting.caller.close();
  await prepared;
  expect(starting.events).toEqual(["open 1", "close 1"]);
});
