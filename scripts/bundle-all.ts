// Bundles all programs, and writes @xfn/kinds, in one process: each start of Node would load esbuild again.
import "./bundle-host.ts";
import "./bundle-kinds.ts";
import "./bundle-runner.ts";
import "./bundle-tracing.ts";
import "./bundle.ts";
