import { expect, test } from "vitest";
import { PlainCaller, statusIn } from "../../testing/plain-caller.ts";
import { Serving } from "../../testing/serving.ts";
import { RunFunctionRequest } from "../wire/run-function.ts";

const MEGABYTE = 1_000_000;

test("the memory of a message is used again, but not while its run goes on", async () => {
  await using serving = new Serving();
  const barrier = Promise.withResolvers<void>();
  const inputs: Uint8Array[] = [];
  await serving.server({
    run: async (image, input) => {
      inputs.push(input);
      // A run that does not stop when its caller has gone.
      if (image === "slow") await barrier.promise;
      return Buffer.from("output");
    },
  });
  const send = async (image: string, letter: string): Promise<PlainCaller> => {
    const message = RunFunctionRequest.encode({ image, input: Buffer.alloc(2 * MEGABYTE, letter) });
    const caller = new PlainCaller(serving, { length: message.length });
    expect(await caller.head()).toEqual({ go: true });
    caller.socket.write(message);
    return caller;
  };
  const slow = await send("slow", "a");
  await expect.poll(() => inputs.length).toBe(1);
  slow.socket.destroy();
  await slow.closed;
  for (const letter of ["b", "c"]) {
    const caller = await send("fast", letter);
    expect(statusIn(await caller.head())).toBe(0);
    caller.socket.end();
    await caller.closed;
  }
  const [first, second] = inputs as [Uint8Array, Uint8Array];
  expect(Buffer.from(first).equals(Buffer.alloc(2 * MEGABYTE, "a"))).toBe(true);
  barrier.resolve();
  await expect
    .poll(async () => {
      const caller = await send("fast", "d");
      await caller.closed;
      return inputs.at(-1)?.buffer === first.buffer || inputs.at(-1)?.buffer === second.buffer;
    })
    .toBe(true);
});

test("the memory of a message that is forwarded is not used again", async () => {
  await using serving = new Serving();
  const memory = new Set<unknown>();
  await serving.server({
    maxConcurrent: 1,
    maxQueued: 0,
    forward: async (_image, _path, request) => {
      memory.add(request.buffer);
      return Buffer.from("output");
    },
  });
  const path = "/apiextensions.fn.proto.v1.FunctionRunnerService/RunFunction";
  for (let count = 1; count <= 5; count++) {
    // The server rejects it until it has noticed the end of the previous call.
    await expect
      .poll(async () => {
        const caller = new PlainCaller(serving, { path, length: 2 * MEGABYTE, metadata: { "xfn-package": "x" } });
        const status = await caller.send(Buffer.alloc(2 * MEGABYTE));
        await caller.closed;
        return status;
      })
      .toBe(0);
    expect(memory.size).toBe(count);
  }
});

test("the memory of an output is offered once its answer has left, to one run", async () => {
  await using serving = new Serving();
  const output = (): Uint8Array => {
    const memory = new ArrayBuffer(2 * MEGABYTE, { maxByteLength: 4 * MEGABYTE });
    return new Uint8Array(memory, 0, 1.5 * MEGABYTE).fill(111);
  };
  const outputs = [output(), output(), output()];
  const offered: (ArrayBuffer | undefined)[] = [];
  await serving.server({
    run: async (image, _input, { outputMemory }) => {
      if (image === "looks") offered.push(outputMemory?.(), outputMemory?.());
      return image === "looks" ? Buffer.from("small") : (outputs.shift() ?? Buffer.alloc(0));
    },
  });
  const send = async (image: string): Promise<PlainCaller> => {
    const message = RunFunctionRequest.encode({ image, input: Buffer.alloc(100) });
    const caller = new PlainCaller(serving, { length: message.length });
    await caller.head();
    caller.socket.write(message);
    return caller;
  };
  const [first] = outputs;
  const slow = await send("makes");
  slow.socket.pause();
  await expect.poll(() => outputs.length).toBe(2);
  await (await send("looks")).closed;
  // The answer is being sent.
  expect(offered).toEqual([undefined, undefined]);
  slow.socket.resume();
  await slow.closed;
  await expect
    .poll(async () => {
      await (await send("looks")).closed;
      return offered.findIndex((memory) => memory === first?.buffer) % 2;
    })
    .toBe(0);
  expect(offered.filter((memory) => memory !== undefined)).toHaveLength(1);
});
