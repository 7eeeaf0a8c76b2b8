// A whole process that pulls one image into an empty store: pull-child.ts STORE HOST REFERENCE
import { openStore } from "@xfn/oci-rootfs";

const [dir, host, reference] = process.argv.slice(2) as [string, string, string];
const store = await openStore({ dir });
await store.image(reference, { insecureRegistries: [host] });
console.log(process.resourceUsage().maxRSS / 1024);
