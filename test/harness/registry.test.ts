import { describe, expect, test } from "vitest";
import { needs } from "./needs.ts";
import { REGISTRY_PASSWORD, REGISTRY_USER, startRegistry, type TestRegistry } from "./registry.ts";

async function statusOf(registry: TestRegistry, headers: Record<string, string> = {}): Promise<number> {
  return (await fetch(`http://${registry.host}/v2/`, { headers })).status;
}

describe("the test registry", needs("docker-registry"), () => {
  test("serves anonymous clients", async () => {
    await using registry = await startRegistry();
    expect(await statusOf(registry)).toBe(200);
  });

  test("with auth, serves only its user", async () => {
    await using registry = await startRegistry({ auth: true });
    const basic = Buffer.from(`${REGISTRY_USER}:${REGISTRY_PASSWORD}`).toString("base64");
    expect(await statusOf(registry)).toBe(401);
    expect(await statusOf(registry, { authorization: `Basic ${basic}` })).toBe(200);
  });

  test("stops, and removes its content", async () => {
    const registry = await startRegistry();
    await registry.stop();
    await expect(statusOf(registry)).rejects.toThrow();
  });
});
