import { expect, test } from "vitest";
import { allowedWebhooks } from "./allowed-webhooks.ts";

const ANSWER = Buffer.from("{}");
const call = async (host: string, url: string): Promise<Uint8Array> =>
  await allowedWebhooks([host], { call: async () => ANSWER }).call(url, ANSWER, { step: "a", timeoutMs: 1000 });

test.each([
  ["example.org", "https://example.org/"],
  ["example.org", "https://EXAMPLE.org:8443/"],
  ["example.org:443", "https://example.org/"],
  ["example.org:8443", "https://example.org:8443/"],
  ["*.example.org:8443", "https://a.example.org:8443/"],
])("%s may call %s", async (host, url) => {
  expect(await call(host, url)).toBe(ANSWER);
});

test.each([
  ["example.org", "https://example.org.evil.com/"],
  ["example.org:443", "https://example.org:8443/"],
  ["example.org:8443", "https://example.org/"],
  ["*.example.org:8443", "https://a.example.org:10250/"],
  ["*.example.org", "https://example.org/"],
])("%s may not call %s", async (host, url) => {
  await expect(call(host, url)).rejects.toMatchObject({ code: "WebhookNotAllowed" });
});
