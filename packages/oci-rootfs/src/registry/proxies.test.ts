import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { TEST_CERTIFICATE, TEST_KEY } from "../../testing/certificate.ts";
import { type FakeRegistry, fakeRegistry } from "../../testing/fake-registry.ts";
import { testImage } from "../../testing/layout.ts";
import { file, tarball } from "../../testing/tarball.ts";
import { parseReference } from "../image/image-name.ts";
import { RegistryClient } from "./client.ts";

// The proxy leads every tunnel to a registry on loopback: no resolver of this machine knows registry.example.org.
const image = testImage([tarball([file("a", "1")])]);
const proxy = createServer();
let registry: FakeRegistry;
let asked: string[] = [];
let status = "200 OK";

proxy.on("connect", (request, socket) => {
  asked.push(`${request.url} ${request.headers["proxy-authorization"] ?? ""}`.trim());
  if (!status.startsWith("200")) return void socket.end(`HTTP/1.1 ${status}\r\n\r\n`);
  const onward = connect(Number(registry.host.split(":")[1]), "127.0.0.1");
  socket.write("HTTP/1.1 200 OK\r\n\r\n");
  for (const end of [socket, onward]) end.on("error", () => undefined);
  socket.pipe(onward).pipe(socket);
});

beforeEach(async () => {
  registry = await fakeRegistry({ tls: { key: TEST_KEY, cert: TEST_CERTIFICATE } });
  registry.add(image);
  await once(proxy.listen(0, "127.0.0.1"), "listening");
  [asked, status] = [[], "200 OK"];
});
afterEach(async () => {
  proxy.close();
  await registry[Symbol.asyncDispose]();
});

async function digest(env: Record<string, string>): Promise<string> {
  const client = new RegistryClient(parseReference("registry.example.org/fn"), {
    certificateAuthorities: [TEST_CERTIFICATE],
    retry: { attempts: 1 },
    env,
  });
  try {
    return (await client.manifest({ tag: "latest" }, undefined)).digest;
  } finally {
    await client.close();
  }
}
const via = (user = ""): string => `http://${user}127.0.0.1:${(proxy.address() as AddressInfo).port}`;

test("a registry is reached through the tunnel of HTTPS_PROXY, with its credentials", async () => {
  expect(await digest({ HTTPS_PROXY: via("ada:s%40crt@") })).toBe(image.manifest.digest);
  expect(asked).toEqual([`registry.example.org:443 Basic ${btoa("ada:s@crt")}`]);
});

test("NO_PROXY excepts a registry", async () => {
  await expect(digest({ HTTPS_PROXY: via(), NO_PROXY: "example.org" })).rejects.toMatchObject({
    code: "RegistryUnavailable",
  });
  expect(asked).toEqual([]);
});

test("a refusal names the proxy, and not its password", async () => {
  status = "407 Proxy Authentication Required";
  const refused = digest({ HTTPS_PROXY: via("ada:secret@") });
  await expect(refused).rejects.toThrow(
    `cannot connect to registry.example.org: the proxy ${via().slice(7)} answered 407 to CONNECT registry.example.org:443`,
  );
});

test("redirects go through the proxy, and not to addresses of other parts of the network", async () => {
  registry.fault = (request, response) => {
    if (request.headers.host !== "registry.example.org") return false;
    return Boolean(response.writeHead(307, { location: `https://localhost.example.org${request.url}` }).end());
  };
  // The certificate is not for this host.
  await expect(digest({ HTTPS_PROXY: via() })).rejects.toThrow(/localhost\.example\.org/);
  expect(asked).toEqual(["registry.example.org:443", "localhost.example.org:443"]);
  registry.fault = (_, response) => Boolean(response.writeHead(307, { location: "https://10.0.0.5/x" }).end());
  await expect(digest({ HTTPS_PROXY: via() })).rejects.toMatchObject({ code: "UnsafeAddress" });
});
