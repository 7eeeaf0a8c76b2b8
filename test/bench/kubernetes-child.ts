// Applies config maps with our client, as kubernetes-peer/main.go does with Go's:
// kubernetes-child.ts KUBECONFIG NAMESPACE PREFIX COUNT CONCURRENCY
import { connect, loadKubeconfig } from "@xfn/kubernetes";

const [path, namespace, prefix, count, concurrency] = process.argv.slice(2) as [string, string, string, string, string];
const client = await connect({ access: await loadKubeconfig({ path }), fieldManager: "bench" });
const apply = (name: string): Promise<unknown> =>
  client.apply({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, namespace, labels: { bench: "apply" } },
    data: { a: "b", text: "as much as a small object has", name },
  });
await apply(`${prefix}-warm`);
let next = 0;
const begin = performance.now();
await Promise.all(
  Array.from({ length: Number(concurrency) }, async () => {
    for (let at = next++; at < Number(count); at = next++) await apply(`${prefix}-${at}`);
  }),
);
console.log(JSON.stringify({ seconds: (performance.now() - begin) / 1000 }));
await client.close();
