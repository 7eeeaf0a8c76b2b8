import fc from "fast-check";
import { expect, test } from "vitest";
import { fakeApiServer } from "../../testing/fake-api-server.ts";
import { isApiError } from "./api-error.ts";
import { connect } from "./connect.ts";

type Fault = "none" | "busy" | "refused" | "cut-before" | "cut-after" | "goaway" | "reset-after" | "half-answer";
const FAULTS: readonly Fault[] = [
  "none",
  "none",
  "none",
  "busy",
  "refused",
  "cut-before",
  "cut-after",
  "goaway",
  "reset-after",
  "half-answer",
];

test("under any faults, a successful write happens once, and a refused write never", {
  timeout: 120_000,
}, async () => {
  const schedule = fc.array(fc.constantFrom(...FAULTS), { minLength: 60, maxLength: 120 });
  await fc.assert(
    fc.asyncProperty(schedule, async (faults) => {
      const done = new Map<string, number>();
      let at = 0;
      await using server = await fakeApiServer(({ method, body, path, status, json, response, session }) => {
        // An incomplete request of a connection that was cut.
        if (method === "POST" && !body.endsWith("}")) return;
        const { name } =
          method === "POST" ? (JSON.parse(body) as { metadata: { name: string } }).metadata : { name: path };
        const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "default" } };
        const fault = faults[at++] ?? "none";
        if (fault === "busy") return status(429, "TooManyRequests", {}, { "retry-after": "0" });
        if (fault === "refused") return response.stream.close(7);
        if (fault === "cut-before") return session?.destroy();
        done.set(name, (done.get(name) ?? 0) + 1);
        if (fault === "cut-after") return session?.destroy();
        if (fault === "reset-after") return response.stream.close(2);
        if (fault === "goaway") session?.goaway(0);
        if (fault === "half-answer") {
          response.writeHead(200).write("{");
          setTimeout(() => response.stream.close(2), 5);
          return;
        }
        json(object);
      });
      const client = await connect({ access: server.access, fieldManager: "test" });
      try {
        await Promise.all(
          Array.from({ length: 40 }, async (_, number) => {
            const name = `n${number}`;
            const metadata = { name, namespace: "default" };
            const outcome = await client.create({ apiVersion: "v1", kind: "ConfigMap", metadata }).then(
              () => "done",
              (error: unknown) => (isApiError(error) ? error.code : error),
            );
            const times = done.get(name) ?? 0;
            if (outcome === "done") expect(times).toBe(1);
            else if (outcome === "Busy") expect(times).toBe(0);
            else {
              expect(outcome).toBe("Unreachable");
              expect(times).toBeLessThanOrEqual(1);
            }
          }),
        );
        // The faults have ended, so the client must work again.
        at = faults.length;
        expect((await client.get({ apiVersion: "v1", kind: "ConfigMap", namespace: "default", name: "x" })).kind).toBe(
          "ConfigMap",
        );
      } finally {
        await client.close();
      }
    }),
    { numRuns: 5 },
  );
});
