// Applies ConfigMaps with our client, like kubernetes-peer/main.go with client-go. Each line of standard input is a
// prefix of names, and starts COUNT applies: kubernetes-child.ts KUBECONFIG NAMESPACE COUNT CONCURRENCY
import { createInterface } from "node:readline";
import { connect, loadKubeconfig } from "@xfn/kubernetes";

const [path, namespace, count, concurrency] = process.argv.slice(2) as [string, string, string, string];
const client = await connect({ access: await loadKubeconfig({ path }), fieldManager: "bench" });
for await (const prefix of createInterface(process.stdin)) {
  let next = 0;
  const begin = performance.now();
  await Promise.all(
    Array.from({ length: Number(concurrency) }, async () => {
      for (let at = next++; at < Number(count); at = next++) {
        const name = `${prefix}-${at}`;
        await client.apply({
          apiVersion: "v1",
          kind: "ConfigMap",
          metadata: { name, namespace, labels: { bench: "apply" } },
          data: { a: "b", text: "as much as a small object has", name },
        });
      }
    }),
  );
  console.log(JSON.stringify({ seconds: (performance.now() - begin) / 1000 }));
}
await client.close();
