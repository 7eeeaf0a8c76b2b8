import dns, { type LookupAddress } from "node:dns";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { Serving } from "../../testing/serving.ts";
import type { RunnerServerOptions } from "../index.ts";
import { serverOptions } from "../server/options.ts";

const SMALL = Buffer.from("input");
// Large enough for a plain call.
const LARGE = Buffer.alloc(200_000, "0123456789abcdefg");

const NAME = "runners.test";

type Found = (cause: Error | null, addresses: LookupAddress[]) => void;

/** Runners at 127.0.0.1, 127.0.0.2 and so on, with one port, as behind a headless Service. */
class Fleet {
  /** The calls of each runner. */
  readonly calls: number[] = [];
  /** The addresses to which the name of the fleet resolves. */
  addresses: string[] = [];
  /** The port of all runners. */
  port = 0;
  readonly #serving: Serving;

  constructor(serving: Serving) {
    this.#serving = serving;
    // grpc-js and plain calls look up names in different ways.
    const { lookup } = dns;
    const byCallback = (host: string, options: dns.LookupAllOptions, found: Found): void =>
      host === NAME ? found(null, this.#found()) : lookup(host, options, found);
    const spies = [
      vi.spyOn(dns, "lookup").mockImplementation(byCallback as never),
      vi.spyOn(dns.promises, "lookup").mockImplementation((async () => this.#found()) as never),
    ];
    onTestFinished(() => {
      for (const spy of spies) spy.mockRestore();
    });
  }

  get endpoint(): string {
    return `dns:///${NAME}:${this.port}`;
  }

  #found(): LookupAddress[] {
    return this.addresses.map((address) => ({ address, family: 4 }));
  }

  /** Starts one more runner. @returns its address */
  async add(options: Parameters<Serving["server"]>[0] = {}): Promise<string> {
    const number = this.calls.push(0) - 1;
    const host = `127.0.0.${number + 1}`;
    const { run = async (_image, input) => input } = options;
    const { address } = await this.#serving.server({
      insecureNoAuth: true,
      maxQueued: 64,
      ...options,
      addresses: [`${host}:${this.port}`],
      run: (...call) => {
        this.calls[number]!++;
        return run(...call);
      },
    });
    this.port = Number(address.split(":").at(-1));
    return host;
  }
}

test("calls of one client take turns among the runners of a name, once all are connected", async () => {
  await using serving = new Serving();
  const fleet = new Fleet(serving);
  for (let count = 0; count < 3; count++) fleet.addresses.push(await fleet.add());
  const client = serving.client(fleet.endpoint);
  await expect
    .poll(async () => {
      await client.run("x", SMALL);
      return fleet.calls.filter((calls) => calls > 0).length;
    })
    .toBe(3);
  fleet.calls.fill(0);
  await Promise.all(Array.from({ length: 30 }, () => client.run("x", SMALL)));
  expect(fleet.calls).toEqual([10, 10, 10]);
});

test("plain calls take turns among the runners of a name too, and pass over one that is gone", async () => {
  await using serving = new Serving();
  const fleet = new Fleet(serving);
  for (let count = 0; count < 3; count++) fleet.addresses.push(await fleet.add());
  const client = serving.client(fleet.endpoint);
  // DNS servers shuffle their answers.
  for (let call = 0; call < 9; call++) {
    await client.run("x", LARGE);
    fleet.addresses.reverse();
  }
  expect(fleet.calls).toEqual([3, 3, 3]);
  fleet.calls.fill(0);
  fleet.addresses.push("127.0.0.9");
  for (let call = 0; call < 8; call++) await client.run("x", LARGE);
  expect(fleet.calls.reduce((sum, calls) => sum + calls)).toBe(8);
  expect(Math.min(...fleet.calls)).toBeGreaterThanOrEqual(2);
});

test("calls to runners that are all gone are undelivered, and so are calls to an unknown name", async () => {
  await using serving = new Serving();
  const fleet = new Fleet(serving);
  fleet.addresses = ["127.0.0.8", "127.0.0.9"];
  const gone = { code: "Unavailable", undelivered: true, retryable: true };
  const refused = serving.client("dns:///runners.test:1").run("x", SMALL);
  await expect(refused).rejects.toMatchObject({ ...gone, message: expect.stringMatching(/ECONNREFUSED/) });
  vi.mocked(dns.promises.lookup).mockRejectedValue(new Error("ENOTFOUND"));
  await expect(serving.client("dns:///runners.test:1").run("x", SMALL)).rejects.toMatchObject(gone);
});

test("a client finds new runners while its calls of old connections go on", async () => {
  await using serving = new Serving();
  const fleet = new Fleet(serving);
  const blocked = Promise.withResolvers<Uint8Array>();
  const started = Promise.withResolvers<void>();
  const run: RunnerServerOptions["run"] = async (image, input) => {
    if (image !== "blocked") return input;
    started.resolve();
    return await blocked.promise;
  };
  fleet.addresses = [await fleet.add({ run, connectionAgeMs: 100 })];
  const client = serving.client(fleet.endpoint);
  const running = client.run("blocked", SMALL);
  await started.promise;
  fleet.addresses.push(await fleet.add());
  await expect.poll(async () => await client.run("x", SMALL).then(() => fleet.calls[1])).toBeGreaterThan(0);
  blocked.resolve(Buffer.from("blocked"));
  expect(Buffer.from(await running).toString()).toBe("blocked");
});

/** A frame of HTTP/2 without content. */
const emptyFrame = (type: number): Buffer => Buffer.of(0, 0, 0, type, 0, 0, 0, 0, 0);
const SETTINGS = emptyFrame(4);
/** Far more frames of an unknown type than a connection may have. */
const FLOOD = Buffer.concat(Array.from({ length: 10_000 }, () => emptyFrame(0xf0)));

test("a runner that floods its client ends its own connection and calls, and no others", async () => {
  await using serving = new Serving();
  const fleet = new Fleet(serving);
  const blocked = Promise.withResolvers<void>();
  const good = await fleet.add({
    run: async (_image, input) => {
      await blocked.promise;
      return input;
    },
  });
  let hostile: Socket | undefined;
  let received = 0;
  const server = createServer((socket) => {
    hostile ??= socket;
    socket.on("error", () => undefined).on("data", ({ length }) => (received += length));
    socket.write(SETTINGS);
  });
  onTestFinished(() => void server.close());
  await once(server.listen(fleet.port, "127.0.0.2"), "listening");
  fleet.addresses = [good, "127.0.0.2"];
  const client = serving.client(fleet.endpoint);
  const calls: Promise<string>[] = [];
  await expect
    .poll(() => {
      calls.push(client.run("x", SMALL).then(String, (error: Error) => error.message));
      // Only the headers of a call have this many bytes.
      return fleet.calls[0]! > 0 && received > 200;
    })
    .toBe(true);
  // The client cannot connect to this server again, which would hide that other connections have ended.
  server.close();
  hostile?.write(FLOOD);
  await expect.poll(() => hostile?.destroyed).toBe(true);
  blocked.resolve();
  const ends = await Promise.all(calls);
  expect(ends.filter((end) => end.includes("more protocol data"))).not.toEqual([]);
  expect(ends.filter((end) => !end.includes("more protocol data"))).toEqual(
    Array.from({ length: fleet.calls[0]! }, () => SMALL.toString()),
  );
});

test("connections have an age unless an option says so, and running calls no limit by it", () => {
  const options = serverOptions({ run: async (_image, input) => input, addresses: [], maxConcurrent: 1, maxQueued: 0 });
  expect(options).toMatchObject({ "grpc.max_connection_age_ms": 60_000 });
  expect(options).not.toHaveProperty(["grpc.max_connection_age_grace_ms"]);
});
