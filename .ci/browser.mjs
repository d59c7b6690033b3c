// Every verb under pyodide, in node: node .ci/browser.mjs PATH-OF-THE-WHEEL. It needs a network, from which
// pyodide's own packages come; tests/contract/test_no_threads.py runs the same script without threads, anywhere.
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { loadPyodide } from "pyodide";

const wheel = process.argv[2];
const python = await loadPyodide();
await python.loadPackage(["micropip", "numpy", "scipy", "pandas", "patsy", "statsmodels", "matplotlib"]);
python.FS.writeFile(basename(wheel), await readFile(wheel));
python.globals.set("wheel", `emfs:./${basename(wheel)}`);
await python.runPythonAsync("import micropip; await micropip.install(wheel)");
python.runPython(await readFile("tests/contract/every_verb.py", "utf8"));
