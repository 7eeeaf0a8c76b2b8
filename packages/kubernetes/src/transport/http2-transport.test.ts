import { execFile } from "node:child_process";
import { createServer, type Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { fakeApiServer } from "../../testing/fake-api-server.ts";
import { dialTls } from "./dial.ts";
import { Http2Session } from "./http2-session.ts";
import { openTransport } from "./http2-transport.ts";
import type { HttpRequest, Transport } from "./transport.ts";

const REQUEST: HttpRequest = { method: "GET", path: "/x", headers: {}, headTimeoutMs: 10_000 };

async function statusOf(transport: Transport, request: HttpRequest = REQUEST): Promise<number> {
  const response = await transport.open(request);
  response.body.resume();
  return response.status;
}

/** Relays bytes to a port. After `deafen`, connections stay open and no data passes. */
async function relay(port: number): Promise<{ port: number; deafen(): void; connects: string[]; close(): void }> {
  const sockets: Socket[] = [];
  const connects: string[] = [];
  const { connect } = await import("node:net");
  const server = createServer((socket) => {
    const onward = connect(port, "127.0.0.1");
    sockets.push(socket, onward);
    for (const one of [socket, onward]) one.on("error", () => undefined);
    socket.once("data", (first: Buffer) => {
      const text = first.toString("latin1");
      if (text.startsWith("CONNECT ")) {
        connects.push(text.split("\r\n")[0] ?? "");
        socket.write("HTTP/1.1 200 OK\r\n\r\n");
      } else onward.write(first);
      socket.pipe(onward).pipe(socket);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    connects,
    deafen() {
      for (const socket of sockets) socket.pause().unpipe();
    },
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

test("a ping detects a silent peer, and the next request connects again", async () => {
  await using server = await fakeApiServer(({ json }) => json({}));
  const between = await relay(server.port);
  const access = { ...server.access, server: `https://127.0.0.1:${between.port}` };
  const transport = openTransport(access, { pingAfterMs: 200, pingTimeoutMs: 2_000 });
  try {
    expect(await statusOf(transport)).toBe(200);
    between.deafen();
    await expect(statusOf(transport)).rejects.toMatchObject({ code: "Lost" });
    expect(await statusOf(transport)).toBe(200);
    expect(server.sessions()).toBe(2);
  } finally {
    transport.close();
    between.close();
  }
});

test.each(["h2", "https"] as const)("TLS runs through the tunnel of a proxy (%s)", async (protocol) => {
  await using server = await fakeApiServer(({ json }) => json({}), { protocol });
  const proxy = await relay(server.port);
  const transport = openTransport({ ...server.access, proxy: `http://127.0.0.1:${proxy.port}` });
  try {
    expect(await statusOf(transport)).toBe(200);
    expect(proxy.connects[0]).toBe(`CONNECT 127.0.0.1:${server.port} HTTP/1.1`);
  } finally {
    transport.close();
    proxy.close();
  }
});

test("a certificate of another CA is rejected before the request is sent", async () => {
  await using server = await fakeApiServer(({ json }) => json({}));
  const transport = openTransport({ ...server.access, tls: async () => ({}) });
  await expect(statusOf(transport)).rejects.toMatchObject({
    code: "NotSent",
    message: expect.stringMatching(/self-signed/) as unknown,
  });
  expect(server.requests).toEqual([]);
  transport.close();
});

test("after renew, requests use a new connection, and running ones are answered", async () => {
  let release = (): void => undefined;
  await using server = await fakeApiServer((exchange) => {
    if (exchange.path === "/slow") release = () => exchange.json({});
    else exchange.json({});
  });
  const transport = openTransport(server.access);
  const running = statusOf(transport, { ...REQUEST, path: "/slow" });
  await expect.poll(() => server.requests).toEqual(["GET /slow"]);
  transport.renew();
  expect(await statusOf(transport)).toBe(200);
  expect(server.sessions()).toBe(2);
  release();
  expect(await running).toBe(200);
  transport.close();
});

test("close ends running requests and rejects new ones", async () => {
  await using server = await fakeApiServer(() => undefined);
  const transport = openTransport(server.access);
  const running = expect(statusOf(transport)).rejects.toMatchObject({ name: "TransportError" });
  await expect.poll(() => server.requests).toHaveLength(1);
  transport.close();
  await running;
  await expect(statusOf(transport)).rejects.toMatchObject({ code: "Aborted" });
});

test("close also ends requests on a connection that the server is closing", async () => {
  let leave = (): void => undefined;
  await using server = await fakeApiServer(({ session }) => {
    leave = () => session?.goaway(0);
  });
  const transport = openTransport(server.access);
  const running = expect(statusOf(transport)).rejects.toMatchObject({ name: "TransportError" });
  await expect.poll(() => server.requests).toHaveLength(1);
  leave();
  // Wait until the client has received GOAWAY, so that it connects again.
  await expect
    .poll(() => {
      void statusOf(transport).catch(() => undefined);
      return server.sessions();
    })
    .toBe(2);
  transport.close();
  await running;
});

test("a connection that is closed at once ends without an error that nothing catches", async () => {
  await using server = await fakeApiServer(() => undefined);
  const session = new Http2Session(server.access.server, await dialTls(server.access, ["h2"]), () => undefined);
  session.destroy();
  await session.ready;
  expect(session.state).toBe("ending");
});

test("a process waits for its response, and an idle connection does not keep it alive", async () => {
  await using server = await fakeApiServer(({ json }) => json({}));
  const { ca } = await server.access.tls();
  const code = `
    import { openTransport } from ${JSON.stringify(fileURLToPath(new URL("./http2-transport.ts", import.meta.url)))};
    const access = { server: ${JSON.stringify(server.access.server)}, tls: async () => ({ ca: ${JSON.stringify(ca)} }) };
    const response = await openTransport(access).open(${JSON.stringify(REQUEST)});
    response.body.resume();
    console.log(response.status);
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", code], {
    timeout: 30_000,
  });
  expect(stdout).toBe("200\n");
});
