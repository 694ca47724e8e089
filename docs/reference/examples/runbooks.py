import kadmin_nb as kn

print(kn.runbooks.list())
run = kn.runbooks.run("quota_audit", {"cluster": "prod"}, output="audit.ipynb")
print(run)
