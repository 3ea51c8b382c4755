import { defineConfig } from 'vite';

// The page stands in one folder with relative addresses, so that any static host serves it from any path.
export default defineConfig({
  base: './',
  build: { outDir: '../build/web', emptyOutDir: true, target: 'es2022', assetsInlineLimit: 0, license: { fileName: 'licenses.md' } },
  worker: { format: 'es' },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  server: { fs: { allow: ['..'] } },
});
