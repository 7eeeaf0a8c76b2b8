import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { RegistryTransport } from "./transport.ts";

test.each([
  ["registry.example.org:80", "registry.example.org:80", "http://registry.example.org/"],
  ["registry.example.org", "Registry.example.org:443", "http://registry.example.org/"],
  ["registry.example.org:5000", "registry.example.org:5000", "http://registry.example.org:5000/"],
  ["registry.example.org", "registry.example.org:80", "https://registry.example.org/"],
  ["registry.example.org", "registry.example.org:5000", "https://registry.example.org/"],
])("of the registry %s, with the insecure registry %s, the API is at %s", async (host, insecure, url) => {
  const transport = new RegistryTransport(host, { insecureRegistries: [insecure] });
  expect(transport.registry.href).toBe(url);
  await transport.close();
});

test("headers of more than 8 KiB are an error with the registry, the bound and a way out", async () => {
  const server = createServer((_, response) => {
    response.setHeader("set-cookie", "a".repeat(9000)).end();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const transport = new RegistryTransport(host, { insecureRegistries: [host] });
  const { signal } = new AbortController();
  const request = transport.send(transport.registry, { method: "GET", headers: {}, signal });
  await expect(request).rejects.toMatchObject({
    code: "RegistryUnavailable",
    retryable: false,
    message: `the headers of a response of ${host} exceed 8192 bytes: remove those that no registry needs, such as cookies, at the proxy before it, or use a mirror of the registry`,
  });
  await transport.close();
});
