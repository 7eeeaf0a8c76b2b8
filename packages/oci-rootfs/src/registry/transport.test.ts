import { expect, test } from "vitest";
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
