import { connect, createServer } from "node:tls";
import { beforeAll, describe, expect, test } from "vitest";
import { certificatesIn, createAuthority, isDue, isIssuedBy, issueCertificate, type KeyPair } from "./certificates.ts";
import { fulfilTls, planTls, type TlsContent, type TlsPair, type TlsState } from "./tls-secrets.ts";

const DAY = 24 * 60 * 60 * 1000;
const NOW = Date.now();
const NAMES = ["fn.ns", "fn"] as const;
const REQUESTS: TlsState["requests"] = {
  server: { usage: "server", names: [...NAMES] },
  client: { usage: "client", names: ["xfn-controller"] },
};

let one: KeyPair;
let two: KeyPair;
beforeAll(async () => {
  [one, two] = await Promise.all([createAuthority(NOW), createAuthority(NOW)]);
});

/** Pods that read their Secret when they start, and a controller that reads its own for each connection. */
class World {
  server: TlsContent | undefined;
  client: TlsContent | undefined;
  pods: (TlsContent | undefined)[] = [];

  /** One reconcile. @returns whether it changed a Secret */
  async reconcile(authority: KeyPair, now = NOW): Promise<boolean> {
    const { server, client } = this;
    const isRolledOut = server !== undefined && this.pods.every((pod) => pod === server);
    const state = { authority, server, client, isRolledOut, requests: REQUESTS, now };
    const plan = planTls(state);
    if (plan === undefined) return false;
    const next: TlsPair<TlsContent> = await fulfilTls(plan, state);
    if (JSON.stringify(next.server) !== JSON.stringify(server)) this.server = next.server;
    this.client = next.client;
    return true;
  }

  restart(index: number): void {
    this.pods[index] = this.server;
  }

  /** Calls each pod. */
  async call(): Promise<string[]> {
    return await Promise.all(this.pods.map((pod) => handshake(pod as TlsContent, this.client as TlsContent)));
  }
}

/** A connection with mTLS. @returns `ok`, or the error's code */
async function handshake(server: TlsContent, client: TlsContent, host = "fn.ns"): Promise<string> {
  const listener = createServer({ ...server, requestCert: true }, (socket) => socket.end("ok"));
  listener.on("tlsClientError", () => undefined);
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  const { port } = listener.address() as { port: number };
  try {
    return await new Promise<string>((resolve) => {
      let text = "";
      const socket = connect({ ...client, port, host: "127.0.0.1", servername: host });
      socket.on("data", (bytes) => (text += String(bytes)));
      socket.on("end", () => resolve(text));
      socket.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    });
  } finally {
    listener.close();
  }
}

async function started(authority: KeyPair): Promise<World> {
  const world = new World();
  await world.reconcile(authority);
  for (const index of [0, 1]) world.restart(index);
  return world;
}

describe("certificates of a runtime", () => {
  test("connect both ends by mTLS, and stay while nothing changes", async () => {
    const world = await started(one);
    expect(await world.call()).toEqual(["ok", "ok"]);
    expect(await world.reconcile(one)).toBe(false);
  });

  test("are for the names of the Service alone", async () => {
    const { server, client } = await started(one);
    expect(await handshake(server as TlsContent, client as TlsContent, "other.ns")).toBe(
      "ERR_TLS_CERT_ALTNAME_INVALID",
    );
  });

  test("of another authority are refused by both ends", async () => {
    const [own, other] = [await started(one), await started(two)];
    expect(await handshake(other.server as TlsContent, own.client as TlsContent)).not.toBe("ok");
    const impostor = { ...(other.client as TlsContent), ca: own.client?.ca ?? "" };
    expect(await handshake(own.server as TlsContent, impostor)).not.toBe("ok");
  });

  test("that expired are refused", async () => {
    const old = await createAuthority(NOW - 400 * DAY);
    const request = { usage: "server", names: [...NAMES] } as const;
    const expired = { ...(await issueCertificate(old, request, NOW - 400 * DAY)), ca: old.cert };
    const client = { ...(await issueCertificate(old, REQUESTS.client, NOW)), ca: old.cert };
    expect(await handshake(expired, client)).toBe("CERT_HAS_EXPIRED");
  });

  test("serve throughout a new authority, whichever pods have restarted, and trust it alone in the end", async () => {
    const world = await started(one);
    const trusted: number[] = [];
    for (let pass = 0; pass < 10; pass++) {
      const changed = await world.reconcile(two);
      expect(await world.call()).toEqual(["ok", "ok"]);
      for (const index of [0, 1]) {
        world.restart(index);
        expect(await world.call()).toEqual(["ok", "ok"]);
        // The first pod alone has restarted.
        if (index === 0) await world.reconcile(two);
        expect(await world.call()).toEqual(["ok", "ok"]);
      }
      trusted.push(certificatesIn(world.server?.ca ?? "").length);
      if (!changed) break;
    }
    expect(trusted[0]).toBe(2);
    expect(trusted.at(-1)).toBe(1);
    for (const { cert = "", ca = "" } of [world.server, world.client].map((end) => ({ ...end }))) {
      expect(isIssuedBy(cert, two.cert)).toBe(true);
      expect(ca).toBe(two.cert);
    }
  });

  test("are renewed before they expire", async () => {
    const then = NOW - 300 * DAY;
    const authority = await createAuthority(then);
    const world = new World();
    await world.reconcile(authority, then);
    for (const index of [0, 1]) world.restart(index);
    const before = [world.server?.cert, world.client?.cert];
    for (const cert of before) expect(isDue(cert ?? "", NOW)).toBe(true);
    await world.reconcile(authority);
    expect(await world.call()).toEqual(["ok", "ok"]);
    expect([world.server?.cert, world.client?.cert].filter((cert) => before.includes(cert))).toEqual([]);
    for (const cert of [world.server?.cert, world.client?.cert]) expect(isDue(cert ?? "", NOW)).toBe(false);
  });

  test.each(["cert", "key", "ca"] as const)("are issued again if a user changes the %s", async (field) => {
    const world = await started(one);
    world.server = { ...(world.server as TlsContent), [field]: "nonsense" };
    expect(await world.reconcile(one)).toBe(true);
    for (const index of [0, 1]) world.restart(index);
    expect(await world.call()).toEqual(["ok", "ok"]);
  });
});
