import { expect, test } from "vitest";
import { inProcessRunner, UnknownImageError } from "./in-process.ts";

test("runs the function of an image with the call's options", async () => {
  const runner = inProcessRunner({
    double: (input, { step }) => new TextEncoder().encode(`${step} ${input.length * 2}`),
  });
  const output = await runner.run("double", new Uint8Array(4), { step: "s" });
  expect(new TextDecoder().decode(output)).toBe("s 8");
});

test("an unknown image is a PullFailed that names the known images", async () => {
  const runner = inProcessRunner({ a: (input) => input });
  await expect(runner.run("toString", new Uint8Array())).rejects.toThrow(UnknownImageError);
  await expect(runner.run("b", new Uint8Array())).rejects.toMatchObject({
    code: "PullFailed",
    phase: "pull",
    retryable: false,
  });
});

test("a call is aborted by its signal, before and while it runs", async () => {
  const runner = inProcessRunner({ hangs: () => new Promise<never>(() => {}) });
  await expect(
    runner.run("hangs", new Uint8Array(), { signal: AbortSignal.abort(new Error("early")) }),
  ).rejects.toThrow("early");
  const controller = new AbortController();
  const call = runner.run("hangs", new Uint8Array(), { signal: controller.signal });
  controller.abort(new Error("late"));
  await expect(call).rejects.toThrow("late");
});
