import { expect, test } from "vitest";
import { createLocalRunner, type LocalRunner, type LocalRunnerOptions } from "./local-runner.ts";
import type { CallOutcome, ServedRunOptions } from "./perform-call.ts";

const INPUT = Buffer.from("input");

function local(options: Partial<LocalRunnerOptions> = {}): LocalRunner {
  return createLocalRunner({ maxConcurrent: 1, maxQueued: 0, run: async (_, input) => input, ...options });
}

/** A run that lasts until its signal. */
async function hanging(_: string, __: Uint8Array, { signal }: ServedRunOptions): Promise<Uint8Array> {
  return await new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
}

test("returns outputs and reports of calls, and their outcomes", async () => {
  const outcomes: CallOutcome[] = [];
  const reports: unknown[] = [];
  const runner = local({
    run: async (_, input, { onPhase, onStderr }) => {
      onPhase("run", 5);
      onStderr("a warning");
      return input;
    },
    onCall: (outcome) => outcomes.push(outcome),
  });
  const output = await runner.run("image", INPUT, {
    step: "one",
    onPhase: (...phase) => reports.push(phase),
    onStderr: (text) => reports.push(text),
  });
  expect(Buffer.from(output)).toEqual(INPUT);
  expect(reports).toEqual([["run", 5], "a warning"]);
  expect(outcomes).toEqual([expect.objectContaining({ image: "image", step: "one", error: undefined, inputBytes: 5 })]);
  expect(runner.counts()).toEqual({ running: 0, waiting: 0 });
});

test("errors of the contract keep their code, and the text of others stays with the operator", async () => {
  const failing = (error: Error): LocalRunner =>
    local({
      async run() {
        throw error;
      },
    });
  const known = Object.assign(new Error("too slow"), { code: "Timeout", phase: "timeout" });
  await expect(failing(known).run("image", INPUT)).rejects.toMatchObject({ code: "Timeout", image: "image" });
  const unknown = await failing(new Error("a secret"))
    .run("image", INPUT)
    .catch((error: unknown) => error);
  expect(unknown).toMatchObject({ code: "Internal" });
  expect(String(unknown)).not.toContain("secret");
});

test("refuses the network of its process", async () => {
  const refused = local().run("image", INPUT, { network: "Accessible" });
  await expect(refused).rejects.toMatchObject({ code: "PermissionDenied" });
});

test("refuses calls beyond its slots and its queue", async () => {
  const refusals: string[] = [];
  const runner = local({ run: hanging, onRefused: ({ code }) => refusals.push(code) });
  const aborter = new AbortController();
  const running = runner.run("image", INPUT, { signal: aborter.signal });
  await expect(runner.run("image", INPUT)).rejects.toMatchObject({ code: "QueueFull", retryable: true });
  expect(refusals).toEqual(["QueueFull"]);
  aborter.abort();
  await expect(running).rejects.toMatchObject({ code: "Aborted" });
  expect(runner.counts()).toEqual({ running: 0, waiting: 0 });
});

test("ends running calls when it stops, and refuses later ones", async () => {
  const runner = local({ run: hanging });
  const running = runner.run("image", INPUT).catch((error: unknown) => error);
  await runner.stop(0);
  expect(await running).toMatchObject({ code: "Closed" });
  await expect(runner.run("image", INPUT)).rejects.toMatchObject({ code: "Closed" });
});

test("calls of packages are forwarded with their path", async () => {
  const runner = local({ forward: async (image, path) => Buffer.from(`${image} ${path}`) });
  expect(String(await runner.callFunction("image", "/a.B/C", INPUT))).toBe("image /a.B/C");
});
