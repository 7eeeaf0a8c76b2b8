import { once } from "node:events";
import { createServer, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import { type AddressInfo, connect as connectTcp } from "node:net";
import process from "node:process";
import { setImmediate as turn } from "node:timers/promises";
import type { ServedFunction, ServeOptions } from "@xfn/runner-contract";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ForwardedCalls, type ForwardSettings } from "./forward-calls.ts";

const IMAGE = "registry.example.org/function:v1";
const PATH = "/example.v1.Functions/Run";
const REQUEST = Buffer.from("request");
const MINUTE = 60_000;
const START_TIMEOUT = 60 * MINUTE;
const SETTINGS = { startTimeoutMs: START_TIMEOUT, fresh: false, maxServers: 8 };

function send(calls: ForwardedCalls, signal?: AbortSignal): Promise<Uint8Array> {
  return calls.call(IMAGE, PATH, REQUEST, { timeoutMs: MINUTE, ...(signal && { signal }) });
}

describe("the start of a function", () => {
  let start: PromiseWithResolvers<ServedFunction>;
  let signals: (AbortSignal | undefined)[];
  let calls: ForwardedCalls;
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    start = Promise.withResolvers();
    signals = [];
    const serve = (_: string, options?: { signal?: AbortSignal }): Promise<ServedFunction> => {
      signals.push(options?.signal);
      return start.promise;
    };
    calls = new ForwardedCalls({ serve }, SETTINGS);
  });
  afterEach(() => {
    calls.close();
    vi.useRealTimers();
  });

  test("that fails after its only caller has left causes no unhandled rejection", async () => {
    const unhandled: unknown[] = [];
    const record = (reason: unknown): void => {
      unhandled.push(reason);
    };
    process.on("unhandledRejection", record);
    try {
      const caller = new AbortController();
      const call = send(calls, caller.signal);
      caller.abort();
      await expect(call).rejects.toThrow();
      vi.advanceTimersByTime(MINUTE);
      start.reject(new Error("the pull failed"));
      await turn();
      await turn();
      expect(unhandled).toEqual([]);
    } finally {
      process.off("unhandledRejection", record);
    }
  });

  test("that exceeds the start timeout ends the call with Timeout", async () => {
    const ended = expect(send(calls)).rejects.toMatchObject({
      code: "Timeout",
      phase: "pull",
      message: expect.stringContaining("--start-timeout") as string,
    });
    vi.advanceTimersByTime(START_TIMEOUT);
    await ended;
  });

  test("is shared, and is aborted only after its last caller has left", async () => {
    const callers = [new AbortController(), new AbortController()] as const;
    const sent = callers.map(({ signal }) => send(calls, signal));
    const left = sent.map((call) => expect(call).rejects.toMatchObject({ code: "Aborted" }));
    callers[0].abort();
    await left[0];
    vi.advanceTimersByTime(MINUTE);
    expect(signals.map((signal) => signal?.aborted)).toEqual([false]);
    callers[1].abort();
    await left[1];
    vi.advanceTimersByTime(MINUTE);
    expect(signals.map((signal) => signal?.aborted)).toEqual([true]);
  });
});

describe("the connection to a function", () => {
  const closers: (() => void)[] = [];
  afterEach(() => {
    for (const close of closers.splice(0).reverse()) close();
  });

  interface Forwarding extends Partial<ForwardSettings> {
    readonly maxOutputBytes?: number;
    /** The log of the servers. */
    readonly log?: { text: string };
    /** Replaces every connection after the first one. */
    readonly onReconnect?: () => Promise<never>;
  }

  /** Forwards calls to an HTTP/2 server of this process, and records which function servers are released. */
  async function forwardTo(
    onStream: (stream: ServerHttp2Stream) => void,
    { maxOutputBytes = 1000, onReconnect, log = { text: "" }, ...settings }: Forwarding = {},
  ) {
    const server = createServer();
    server.on("session", (session) => {
      session.on("error", () => undefined);
      closers.push(() => session.destroy());
    });
    server.on("stream", (stream) => {
      stream.on("error", () => undefined);
      stream.resume();
      onStream(stream);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    closers.push(() => server.close());
    const { port } = server.address() as AddressInfo;
    const released: number[] = [];
    let started = 0;
    let connected = 0;
    const images: string[] = [];
    const served = (number: number): ServedFunction => ({
      async connect() {
        if (++connected > 1 && onReconnect !== undefined) return await onReconnect();
        const socket = connectTcp(port, "127.0.0.1");
        await once(socket, "connect");
        return socket;
      },
      written: () => log.text.length,
      stderr: async (since = 0) => log.text.slice(since),
      release() {
        released.push(number);
      },
    });
    const serve = async (image: string, options: ServeOptions = {}): Promise<ServedFunction> => {
      images.push(options.fresh === true ? `a fresh ${image}` : image);
      return served(++started);
    };
    const calls = new ForwardedCalls({ serve, maxOutputBytes }, { ...SETTINGS, ...settings });
    closers.push(() => calls.close());
    return { calls, images, released };
  }

  function answer(stream: ServerHttp2Stream, text: string): void {
    stream.respond({ "content-type": "application/grpc" }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(text.length, 1);
    stream.end(Buffer.concat([prefix, Buffer.from(text)]));
  }

  function refuse(stream: ServerHttp2Stream): void {
    stream.respond({ "content-type": "application/grpc", "grpc-status": "13", "grpc-message": "no" });
    stream.end();
  }

  test("accepts a response of at most the runner's maxOutputBytes", async () => {
    const fits = await forwardTo((stream) => answer(stream, "0123456789"), { maxOutputBytes: 10 });
    expect(await send(fits.calls)).toEqual(Buffer.from("0123456789"));
    const exceeds = await forwardTo((stream) => answer(stream, "0123456789"), { maxOutputBytes: 9 });
    await expect(send(exceeds.calls)).rejects.toMatchObject({ code: "OutputTooLarge" });
  });

  test("that is lost fails the call with the error of its server, if that ended", async () => {
    const end = new Error("the server exited");
    const { calls } = await forwardTo((stream) => stream.session?.destroy(), {
      onReconnect: () => Promise.reject(end),
    });
    await expect(send(calls)).rejects.toBe(end);
  });

  test("that is lost is not asked for its server's error after the caller has left", async () => {
    const caller = new AbortController();
    const left = new Error("the caller has left");
    const { calls } = await forwardTo((stream) => stream.session?.destroy(), {
      onReconnect: async () => {
        caller.abort(left);
        return await Promise.withResolvers<never>().promise;
      },
    });
    await expect(send(calls, caller.signal)).rejects.toBe(left);
  });

  test("finishes its calls after the server has begun to close it, and a new call gets another one", async () => {
    const first = Promise.withResolvers<ServerHttp2Stream>();
    const sessions = new Set<unknown>();
    const { calls, released } = await forwardTo((stream) => {
      sessions.add(stream.session);
      if (sessions.size === 1) first.resolve(stream);
      else answer(stream, "new");
    });
    const earlier = send(calls);
    const stream = await first.promise;
    const session = stream.session as ServerHttp2Session;
    // The client confirms the GOAWAY frame.
    const confirmed = once(session, "goaway");
    session.close();
    await confirmed;
    expect(await send(calls)).toEqual(Buffer.from("new"));
    expect(released).toEqual([]);
    answer(stream, "earlier");
    expect(await earlier).toEqual(Buffer.from("earlier"));
    await expect.poll(() => released).toContain(1);
    expect(sessions.size).toBe(2);
  });

  test("a call reports what its server wrote meanwhile, and nothing of earlier calls", async () => {
    const log = { text: "started\n" };
    const { calls } = await forwardTo(
      (stream) => {
        log.text += "one more\n";
        if (log.text.length < 20) answer(stream, "x");
        else refuse(stream);
      },
      { log },
    );
    const reported: string[] = [];
    const options = { timeoutMs: MINUTE, onStderr: (text: string) => void reported.push(text) };
    await calls.call(IMAGE, PATH, REQUEST, options);
    const failure = await calls.call(IMAGE, PATH, REQUEST, options).catch((error: unknown) => error);
    expect(reported).toEqual(["one more\n", "one more\n"]);
    expect(failure).toMatchObject({ name: "RunnerGrpcError", byFunction: true, stderr: "one more\n" });
  });

  test("calls with other credentials, or that ask the registry each time, do not share the outcome of a pull", async () => {
    const { calls, images } = await forwardTo((stream) => answer(stream, "x"));
    const options = { timeoutMs: MINUTE };
    for (const more of [{}, { auth: { username: "ada", password: "x" } }, {}]) {
      await calls.call(IMAGE, PATH, REQUEST, { ...options, ...more });
    }
    expect(images).toHaveLength(2);
    for (let i = 0; i < 2; i++) await calls.call(IMAGE, PATH, REQUEST, { ...options, pullPolicy: "Always" });
    expect(images).toHaveLength(4);
  });

  test("a fresh server serves one call, and is released before the next", async () => {
    const { calls, images, released } = await forwardTo((stream) => answer(stream, "x"), { fresh: true });
    await send(calls);
    await expect.poll(() => released).toEqual([1]);
    await send(calls);
    await expect.poll(() => released).toEqual([1, 2]);
    expect(images).toEqual([`a fresh ${IMAGE}`, `a fresh ${IMAGE}`]);
  });

  test("that no call uses is closed for another function when there may be no more servers", async () => {
    const { calls, images, released } = await forwardTo((stream) => answer(stream, "x"), { maxServers: 1 });
    await send(calls);
    await calls.call("another", PATH, REQUEST, { timeoutMs: MINUTE });
    expect(images).toEqual([IMAGE, "another"]);
    expect(released).toEqual([1]);
  });
});
